/**
 * The first release of each line of Node that has the fixes of all known flaws which concern Countersign. The last one was
 * memory corruption in the decoder of Brotli (October 2026).
 *
 * A process on an older release warns at its start and in `/healthz`. Change the list on the day of a security release of
 * Node that fixes something we use: raise every line that was fixed. Remove a line when its support ends; its users are
 * then told to move to the newest line. Add a line when we pin it. ADR 8 has the rule.
 */
const safeReleases: readonly string[] = ['22.23.4', '24.22.1', '26.12.1'];

/** How safe a Node is. `update`: the oldest safe release of its line, or of the newest line. */
export type NodeSafety =
  | { readonly version: string; readonly safe: true }
  | { readonly version: string; readonly safe: false; readonly update: string };

/**
 * Returns whether a Node has the known fixes. A line that is not in the list is safe only if it is newer than all lines
 * of the list.
 * @param version as in `process.versions.node`. Default: the running Node.
 */
export function nodeSafety(version: string = process.versions.node): NodeSafety {
  const [major] = numbersOf(version);
  const update = safeReleases.find((release) => numbersOf(release)[0] === major) ?? safeReleases.at(-1) ?? '';
  return isOlder(version, update) ? { version, safe: false, update } : { version, safe: true };
}

function isOlder(version: string, than: string): boolean {
  const [ours, wanted] = [numbersOf(version), numbersOf(than)];
  const at = wanted.findIndex((part, index) => part !== ours[index]);
  return at !== -1 && (ours[at] ?? 0) < (wanted[at] ?? 0);
}

/** Major, minor and patch. What follows them in the version of a build of your own is ignored. */
function numbersOf(version: string): readonly number[] {
  return version.split('.', 3).map((part) => Number.parseInt(part, 10));
}
