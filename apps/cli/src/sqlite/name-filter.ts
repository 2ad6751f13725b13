/** Which names were added, approximately: it never misses one, and takes one in a thousand for one that was added. */
export interface NameFilter {
  readonly add: (name: string) => void;
  readonly mayHave: (name: string) => boolean;
}

/** A Bloom filter for ten million names. It takes 16 MiB. */
const bits = 2 ** 27;
const probes = 8;

export function createNameFilter(): NameFilter {
  const words = new Uint32Array(bits / 32);
  return {
    add: (name) => {
      const [start, step] = hashesOf(name);
      for (let probe = 0; probe < probes; probe += 1) {
        const bit = placeOf(start, step, probe);
        words[bit >>> 5] = (words[bit >>> 5] ?? 0) | (1 << (bit & 31));
      }
    },
    mayHave: (name) => {
      const [start, step] = hashesOf(name);
      for (let probe = 0; probe < probes; probe += 1) {
        const bit = placeOf(start, step, probe);
        if (((words[bit >>> 5] ?? 0) & (1 << (bit & 31))) === 0) return false;
      }
      return true;
    },
  };
}

function placeOf(start: number, step: number, probe: number): number {
  return (start + Math.imul(step, probe)) & (bits - 1);
}

/** Two hashes of a name, after FNV-1a. The names in a log are chosen by strangers: a bad hash costs time, and nothing else. */
function hashesOf(name: string): readonly [start: number, step: number] {
  let [one, other] = [0x811c9dc5, 0x01000193];
  for (let at = 0; at < name.length; at += 1) {
    const unit = name.charCodeAt(at);
    one = Math.imul(one ^ unit, 0x01000193);
    other = Math.imul(other ^ unit, 0x85ebca6b);
  }
  return [one ^ (one >>> 15), (other ^ (other >>> 13)) | 1];
}
