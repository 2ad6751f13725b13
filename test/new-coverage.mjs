// Coverage asks which lines a run reaches, and most specs reach in most files what others have reached before. Copying, sending and
// merging the counters of every loaded file costs more than counting. So a worker hands over only what is new.

/** The counters of each file that any spec of this worker has moved. */
const reached = new Map();

/**
 * Removes from the coverage of a spec the files in which it reached nothing that earlier specs of this worker had not reached.
 * The first coverage of a file stays in any case. The covered lines of the whole run are the same, the counts are lower.
 */
export function keepNewCoverage(coverage) {
  for (const [path, { s, f, b }] of Object.entries(coverage)) {
    const counts = [...Object.values(s), ...Object.values(f), ...Object.values(b).flat()];
    const before = reached.get(path);
    const now = before ?? new Uint8Array(counts.length);
    let isNew = before === undefined;
    for (const [index, count] of counts.entries()) {
      if (count === 0 || now[index] === 1) continue;
      now[index] = 1;
      isNew = true;
    }
    reached.set(path, now);
    if (!isNew) delete coverage[path];
  }
}
