"""Package recipes and documents that name tests are well formed and agree with the tree."""

import ast
import importlib.util
import pathlib
import re
import tarfile
import tempfile
import tomllib
import unittest

from alone import in_job, python

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
WORKSPACE = tomllib.loads((ROOT / "Cargo.toml").read_text(encoding="utf-8"))["workspace"]["package"]


class Recipes(unittest.TestCase):
    """Recipes of conda and Spack, and the build backend of pip."""

    def test_the_recipe_of_conda_names_this_version(self):
        text = (ROOT / "packaging/conda/meta.yaml").read_text(encoding="utf-8")
        if importlib.util.find_spec("yaml"):
            import yaml

            recipe = yaml.safe_load(text)
            self.assertEqual(recipe["package"], {"name": "canele", "version": WORKSPACE["version"]})
            self.assertEqual(recipe["about"]["license"], WORKSPACE["license"])
            for name in recipe["about"]["license_file"]:
                self.assertTrue((ROOT / name).is_file(), name)
            self.assertEqual((ROOT / "packaging/conda" / recipe["source"]["path"]).resolve(), ROOT)
            self.assertEqual(set(recipe), {"package", "source", "build", "requirements", "test", "about"})
        self.assertIn(f'version: "{WORKSPACE["version"]}"', text)
        self.assertNotIn("\t", text)

    def test_the_recipe_of_spack_compiles_and_calls_what_there_is(self):
        path = ROOT / "packaging/spack_repo/canele/packages/canele/package.py"
        tree = ast.parse(path.read_text(encoding="utf-8"))
        [recipe] = [node for node in tree.body if isinstance(node, ast.ClassDef)]
        self.assertEqual(recipe.name, "Canele")
        called = {ast.unparse(node.value) for node in recipe.body if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)}
        self.assertIn(f"license('{WORKSPACE['license']}')", called)
        self.assertIn(f"depends_on('rust@{WORKSPACE['rust-version']}:', type='build')", called)
        words = {node.value for node in ast.walk(recipe) if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        for word in ("scripts/install", "python/canele"):
            self.assertIn(word, words)
            self.assertTrue((ROOT / word).exists(), word)

    def test_pip_finds_what_builds(self):
        settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]
        [folder] = settings["backend-path"]
        spec = importlib.util.spec_from_file_location("backend", ROOT / folder / f"{settings['build-backend']}.py")
        backend = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(backend)
        self.assertTrue(callable(backend.build_wheel) and callable(backend.build_sdist))
        # The backend requires the packer that scripts/wheel uses.
        [packer] = backend.get_requires_for_build_wheel()
        self.assertIn(f'"{packer}"', (ROOT / "scripts/wheel").read_text(encoding="utf-8"))

    @unittest.skipUnless((ROOT / ".git").exists(), "sources are packed from a clone")
    def test_sources_are_packed_completely(self):
        with tempfile.TemporaryDirectory() as folder:
            python("-c", "import os, sys; os.environ['CARGO_TARGET_DIR'] = sys.argv[2]; os.execv(sys.argv[1], [sys.argv[1], '--sdist'])",
                   ROOT / "scripts/wheel", folder)
            [archive] = pathlib.Path(folder, "wheel").glob("*.tar.gz")
            top = f"canele-{WORKSPACE['version']}"
            self.assertEqual(archive.name, f"{top}.tar.gz")
            with tarfile.open(archive) as files:
                names = set(files.getnames())
                about = files.extractfile(f"{top}/PKG-INFO").read().decode()
            for name in ("pyproject.toml", "Cargo.lock", "packaging/build_backend.py", "scripts/wheel", "python/canele/__init__.py", "README.md"):
                self.assertTrue(f"{top}/{name}" in names, name)
            self.assertIn(f"\nVersion: {WORKSPACE['version']}\n", about)
            self.assertFalse([name for name in names if name.startswith(f"{top}/target")])


class Documents(unittest.TestCase):
    """The table of mpi4py's features."""

    def test_each_row_that_is_there_names_a_test(self):
        rows = [line.split("|")[1:-1] for line in (ROOT / "docs/mpi4py-parity.md").read_text(encoding="utf-8").splitlines() if line.startswith("|")]
        self.assertGreater(len(rows), 40)
        for offered, there, test in rows[2:]:
            is_there = "not there" not in there and "no counterpart" not in there
            self.assertEqual(is_there, bool(test.strip()), f"{offered}: a test stands where there is something, and nowhere else")
            for path in re.findall(r"`((?:programs/)?\w+\.py)`", test):
                text = (ROOT / "python/tests" / path).read_text(encoding="utf-8")
                for name in re.findall(r"`(test_\w+)`", test):
                    self.assertIn(f"def {name}(self", text, path)


def load_tests(loader, tests, pattern):
    """Excludes these tests from jobs."""
    return unittest.TestSuite() if in_job() else tests


if __name__ == "__main__":
    unittest.main(verbosity=1)
