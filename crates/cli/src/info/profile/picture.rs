//! The picture of a profile: the time of a copy over its length, through a ring, by one end and by both ends.

use canele_chart::{Axis, Chart, Curve, DrawError, Legend, SIZE, Scale, label_of_size, ours, picture};
use canele_profile::{HostProfile, LoadedProfile, Profile};

use crate::bench::axis_time;

/// Lengths from the first to the last power of two, in bytes.
const LENGTHS: std::ops::RangeInclusive<u32> = 10..=23;
/// Cache lines that pass between both ends beside the bytes: the word that announces the message, and the
/// word that acknowledges it.
const LINES: f64 = 2.0;

/// Returns the picture as SVG.
pub fn draw(loaded: &LoadedProfile) -> Result<String, DrawError> {
    let note = format!("profile: {}; one pair of processes, private buffers", loaded.source);
    picture(SIZE.1, &note, |area| chart(&loaded.profile).draw(area))
}

fn chart(profile: &Profile) -> Chart {
    let curve = |index: usize, name: &str, ns: &dyn Fn(f64) -> f64| Curve {
        name: name.into(),
        points: LENGTHS.map(|power| f64::from(1 << power)).map(|bytes| (bytes, ns(bytes))).collect(),
        colour: ours(index),
        dashes: None,
        marked: false,
    };
    let host = &profile.host;
    let lines = LINES * f64::from(host.line_ns.shared_l3);
    let through = |rate: u32| move |bytes: f64| lines + bytes * 1000.0 / f64::from(rate);
    let mut curves = vec![
        curve(0, "ring, near", &through(host.ring.near)),
        curve(1, "ring, far", &through(host.ring.far)),
    ];
    if let Some(single) = &host.single_copy {
        let by = |rate: u32| {
            let fixed = lines + f64::from(single.call_ns);
            move |bytes: f64| fixed + bytes * 1000.0 / f64::from(rate)
        };
        curves.push(curve(2, "one end copies", &by(single.rate(1, false))));
        curves.push(curve(3, "both ends copy", &by(single.rate(1, true))));
    }
    Chart {
        caption: caption(host),
        x: Axis { what: "message size (bytes)", scale: Scale::Log(2.0), labels: 26, label: label_of_size },
        y: Axis { what: "time of a copy", scale: Scale::Log(10.0), labels: 12, label: axis_time },
        curves,
        legend: Legend::UpperLeft,
    }
}

/// Returns the result of the picture in words: the fastest way to copy a long message between processors with
/// their own caches.
fn caption(host: &HostProfile) -> String {
    let single = host
        .single_copy
        .map(|single| [(single.rate(1, false), "one end copies"), (single.rate(1, true), "both ends copy")]);
    let rates = std::iter::once((host.ring.far, "a ring")).chain(single.into_iter().flatten());
    let (rate, name) = rates.max_by_key(|(rate, _)| *rate).expect("there is a ring");
    format!(
        "Copies of long messages: fastest between far processors is {name}, {:.1} GB/s",
        f64::from(rate) / 1000.0
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_way_has_a_curve_that_rises() {
        let chart = chart(&Profile { host: HostProfile::OWN_CACHES, networks: Vec::new() });
        let names: Vec<&str> = chart.curves.iter().map(|curve| &*curve.name).collect();
        assert_eq!(names, ["ring, near", "ring, far", "one end copies", "both ends copy"]);
        for curve in &chart.curves {
            assert!(curve.points.windows(2).all(|two| two[0].1 < two[1].1), "{}", curve.name);
        }
        // The case is 1 MB: two lines of 180 ns, a call of 600 ns, and 36 GB/s.
        let (bytes, ns) = chart.curves[3].points[10];
        assert_eq!((bytes, ns.round()), (1048576.0, (960.0f64 + 1048576.0 / 36.0).round()));
        assert!(chart.caption.contains("both ends copy, 36.0 GB/s"), "{}", chart.caption);
    }

    #[test]
    fn a_ring_is_left_where_the_kernel_refuses_single_copies() {
        let host = HostProfile { single_copy: None, ..HostProfile::OWN_CACHES };
        let chart = chart(&Profile { host, networks: Vec::new() });
        assert_eq!(chart.curves.len(), 2);
        assert!(chart.caption.contains("a ring, 12.8 GB/s"), "{}", chart.caption);
    }
}
