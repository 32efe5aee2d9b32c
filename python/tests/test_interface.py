"""The type stubs and the documentation agree with the module."""

import ast
import inspect
import pathlib

import canele
from canele import _native
from support import RankTest


class Interface(RankTest):
    stubs = ast.parse(pathlib.Path(_native.__file__).with_name("_native.pyi").read_text(encoding="utf-8"))

    def test_stubs_name_what_there_is(self):
        written = {node.name: node for node in self.stubs.body if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
        there = {name for name in dir(_native) if not name.startswith("_")} - {"ANY_SOURCE", "ANY_TAG"}
        self.assertEqual(set(written), there)
        for name, node in written.items():
            if isinstance(node, ast.ClassDef):
                self.compare_class(node, getattr(_native, name))
            else:
                self.compare_arguments(node, getattr(_native, name))

    def compare_class(self, node, there):
        written = {item.name: item for item in node.body if isinstance(item, ast.FunctionDef) and not item.name.startswith("__")}
        written_names = set(written) | {item.target.id for item in node.body if isinstance(item, ast.AnnAssign)}
        names = {name for name in vars(there) if not name.startswith("__")}
        self.assertEqual(written_names, names, node.name)
        for name, item in written.items():
            if callable(getattr(there, name)):
                self.compare_arguments(item, getattr(there, name))

    def compare_arguments(self, node, there):
        self.assertEqual([argument.arg for argument in node.args.args], list(inspect.signature(there).parameters), node.name)

    def test_everything_is_documented(self):
        for name in canele.__all__:
            thing = getattr(canele, name)
            if isinstance(thing, type):
                self.assertTrue(thing.__doc__, name)
                for method, value in vars(thing).items():
                    if not method.startswith("_") and (callable(value) or inspect.isgetsetdescriptor(value)):
                        self.assertTrue(value.__doc__, f"{name}.{method}")
            elif callable(thing):
                self.assertTrue(thing.__doc__, name)
