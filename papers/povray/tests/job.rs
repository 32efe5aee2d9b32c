//! The program alone and as a job, with good and bad input.

mod support;

use std::process::{Command, Output};

use canele_show::Picture;
use support::{Folder, PROGRAM, SMALL, povray, text};

fn succeeds(ended: &Output) -> String {
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    text(&ended.stdout)
}

#[test]
fn the_picture_has_the_same_bytes_for_any_number_of_ranks_and_slices() {
    if povray().is_none() {
        return;
    }
    let folder = Folder::new("same");
    let picture = |ranks: usize, slices: &[&str]| {
        let summary = succeeds(&folder.run(ranks, &[&SMALL[..4], slices].concat()));
        assert_eq!(summary.contains(" messages, "), ranks > 1, "{summary}");
        folder.picture()
    };
    let whole = picture(0, &["--slice-rows", "48"]);
    for ranks in [1, 2, 3] {
        assert!(picture(ranks, &["--slice-rows", "10"]) == whole, "{ranks} ranks render another picture");
    }
    assert!(picture(3, &["--slice-rows", "30", "--processes", "1"]) == whole, "more workers than slices");
}

/// Runs POV-Ray alone, without the options that select slices.
#[test]
fn the_picture_is_povrays_own() {
    let Some(povray) = povray() else { return };
    let folder = Folder::new("own");
    succeeds(&folder.run(3, &["--width", "80", "--height", "60", "--slice-rows", "13"]));
    let scene = concat!("+I", env!("CARGO_MANIFEST_DIR"), "/scene/caneles.pov");
    let options = [scene, "+W80", "+H60", "+Q9", "+A0.3", "+AM2", "+R2", "-J", "+WT1", "-D", "+FN8", "+O-"];
    let expected = Command::new(povray).args(options).output().unwrap();
    let expected = Picture::decode(&expected.stdout, "POV-Ray's").unwrap();
    let found = Picture::decode(&folder.picture(), "ours").unwrap();
    assert!(found == expected, "the pixels differ");
    assert!(found.pixels.iter().any(|pixel| *pixel != found.pixels[0]), "there is something in it");
}

#[test]
fn slices_of_one_row_and_a_scene_in_a_file_with_others() {
    if povray().is_none() {
        return;
    }
    let folder = Folder::new("files");
    let inner = folder.path.join("a scène");
    std::fs::create_dir_all(&inner).unwrap();
    std::fs::write(inner.join("colour.inc"), "#declare Colour = rgb <1, 0.5, 0>;").unwrap();
    let scene = "#version 3.7; global_settings { assumed_gamma 1 } #include \"colour.inc\"
        camera { location -3*z look_at 0 } light_source { <2, 5, -5> rgb 1 } sphere { 0, 1 pigment { Colour } }";
    std::fs::write(inner.join("sphère.pov"), scene).unwrap();
    let file = folder.file("a scène/sphère.pov");
    let picture = |ranks, rows: &str| {
        let size = ["--width", "16", "--height", "3", "--scene", &file, "--slice-rows", rows];
        succeeds(&folder.run(ranks, &size));
        folder.picture()
    };
    assert!(picture(2, "1") == picture(1, "3"), "rows alone differ");
    let flat = ["--width", "16", "--height", "1", "--scene", &file, "--quiet"];
    assert_eq!(succeeds(&folder.run(2, &flat)), "");
}

/// Checks that a job ends with status 2 and gives the reason once, for all ranks.
fn refused(folder: &Folder, ranks: usize, arguments: &[&str], why: &str) {
    let ended = folder.run(ranks, arguments);
    let said = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(2), "{arguments:?}: {said}");
    assert_eq!(said.matches(why).count(), 1, "{arguments:?}: {said}");
    assert_eq!(said.matches("povray-farm: ").count(), 1, "{arguments:?}: {said}");
    assert_eq!(text(&ended.stdout), "");
    folder.wait_for_the_end_of_all();
}

#[test]
fn bad_input_is_explained_once_by_all_ranks_together() {
    let folder = Folder::new("bad");
    folder.replace_povray("exit 9");
    for ranks in [1, 3] {
        refused(&folder, ranks, &["--width", "0"], "0 is not in 1..=65535");
        refused(&folder, ranks, &["--width", "65535", "--height", "65535"], "at most 268435456 are possible");
        refused(&folder, ranks, &["--scene", "no/such.pov"], "cannot read the scene no/such.pov");
        refused(&folder, ranks, &["--scene", "/"], "cannot read the scene /");
        refused(&folder, ranks, &SMALL, " with exit status 9: it says nothing");
    }
    let ended = support::launch::program(&["-n", "3"], PROGRAM.as_ref(), &["--output", "no/such/folder.png"]);
    assert_eq!(ended.status.code(), Some(2));
    assert!(text(&ended.stderr).contains("cannot write no/such/folder.png"), "{}", text(&ended.stderr));
}

#[test]
fn a_missing_povray_is_named_with_the_package_to_install() {
    let folder = Folder::new("missing");
    for ranks in [1, 3] {
        let ended = folder.command(ranks, &[], &SMALL).env("PATH", "/no/such/folder").output().unwrap();
        let said = text(&ended.stderr);
        assert_eq!(ended.status.code(), Some(2), "{said}");
        let why = "there is no program povray in PATH: install POV-Ray 3.7 (Debian: apt-get install povray)";
        assert_eq!(said.matches(why).count(), 1, "{said}");
    }
}

#[test]
fn a_broken_scene_ends_the_job_with_povrays_own_words_and_the_rank() {
    if povray().is_none() {
        return;
    }
    let folder = Folder::new("broken");
    let file = folder.file("broken.pov");
    std::fs::write(&file, "sphere { 0, 1 pigment { color Nonsense } }").unwrap();
    let arguments = [&SMALL[..], &["--scene", &file]].concat();
    for ranks in [1, 3] {
        refused(&folder, ranks, &arguments, "broken.pov' line 1: Parse Error: No matching } in 'pigment'");
    }
    let ended = folder.run(2, &arguments);
    let said = text(&ended.stderr);
    assert!(said.starts_with("povray-farm: rank 1: POV-Ray failed on rows "), "{said}");
    assert!(said.contains(&format!(" with exit status 1: File '{file}' line 1: Parse Error: ")), "{said}");
}

#[test]
fn one_rank_answers_a_question_for_help() {
    let ended = support::launch::program(&["-n", "3"], PROGRAM.as_ref(), &["--help"]);
    assert!(ended.status.success());
    let help = text(&ended.stdout);
    assert_eq!(help.matches("Examples:").count(), 1);
    assert!(help.contains("a master and three workers"), "{help}");
    assert_eq!(text(&ended.stderr), "");
}
