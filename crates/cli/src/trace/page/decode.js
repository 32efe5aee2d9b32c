"use strict";
// The events of the page: base64 of numbers in 7-bit groups, the lowest first. See encode.rs for their order.
function decodeEvents(base64) {
  const text = atob(base64);
  let at = 0;
  const number = () => {
    let value = 0, factor = 1;
    for (let count = 0; count < 8; count++) {
      const byte = text.charCodeAt(at++);
      value += (byte & 127) * factor;
      if (byte < 128) break;
      factor *= 128;
    }
    return value;
  };
  const rows = [];
  for (let left = number(); left > 0; left--) {
    const row = { rank: number(), thread: number() };
    const count = number();
    row.start = new Float64Array(count);
    row.end = new Float64Array(count);
    row.latest = new Float64Array(count);
    row.kind = new Uint8Array(count);
    row.name = new Uint32Array(count);
    row.site = new Uint32Array(count);
    let start = 0, latest = 0;
    for (let n = 0; n < count; n++) {
      start += number();
      row.start[n] = start;
      row.end[n] = start + number();
      latest = Math.max(latest, row.end[n]);
      row.latest[n] = latest;
      const named = number();
      row.kind[n] = named % 4;
      row.name[n] = Math.floor(named / 4);
      row.site[n] = number();
    }
    rows.push(row);
  }
  const count = number();
  const messages = { count, sent: new Float64Array(count), received: new Float64Array(count),
    from: new Uint32Array(count), to: new Uint32Array(count), bytes: new Float64Array(count) };
  let sent = 0;
  for (let n = 0; n < count; n++) {
    sent += number();
    messages.sent[n] = sent;
    const apart = number();
    messages.received[n] = sent + (apart % 2 ? -(apart + 1) / 2 : apart / 2);
    messages.from[n] = number();
    messages.to[n] = number();
    messages.bytes[n] = number();
  }
  return { rows, messages, isWhole: at === text.length };
}
