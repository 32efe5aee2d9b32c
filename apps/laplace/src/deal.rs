//! Distributes the parts of the plate to the ranks, and collects them at rank 0.

use crate::error::LaplaceError;
use crate::layout::Layout;
use crate::plate::Plate;
use crate::team::Team;

/// Gives every rank its part of the plate. Rank 0 passes the whole plate, the others pass none.
pub fn hand_out<T: Team>(
    plate: Option<&Plate>,
    layout: &Layout,
    team: &mut T,
) -> Result<Plate, LaplaceError> {
    let own = layout.extent(team.rank());
    if let Some(plate) = plate {
        for (rank, extent) in layout.extents().enumerate().skip(1) {
            let part = plate.part(&extent);
            team.send(rank, &part.temperatures)?;
            let fixed: Vec<f64> = part.fixed.iter().map(|fixed| f64::from(u8::from(*fixed))).collect();
            team.send(rank, &fixed)?;
        }
        return Ok(plate.part(&own));
    }
    let cells = own.width() * own.height();
    let (mut temperatures, mut fixed) = (vec![0.0; cells], vec![0.0; cells]);
    team.receive(0, &mut temperatures)?;
    team.receive(0, &mut fixed)?;
    let fixed = fixed.into_iter().map(|fixed| fixed != 0.0).collect();
    Ok(Plate { width: own.width(), height: own.height(), temperatures, fixed })
}

/// Collects the temperatures of all ranks in rank 0's plate. The others pass no plate.
pub fn collect<T: Team>(
    own: &[f64],
    plate: Option<&mut Plate>,
    layout: &Layout,
    team: &mut T,
) -> Result<(), LaplaceError> {
    let Some(plate) = plate else { return team.send(0, own) };
    plate.put(&layout.extent(0), own);
    for (rank, extent) in layout.extents().enumerate().skip(1) {
        let mut part = vec![0.0; extent.width() * extent.height()];
        team.receive(rank, &mut part)?;
        plate.put(&extent, &part);
    }
    Ok(())
}
