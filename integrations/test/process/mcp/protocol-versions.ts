/** A version of MCP as the official conformance suite tries it. */
interface TriedVersion {
  readonly version: string;
  /** The number of scenarios that the suite has for a server. */
  readonly scenarios: number;
  /** The number of calls that people approve while these run behind `--gate writes`. `some`: the suite cancels a few of them at once. */
  readonly approvals: number | 'some';
  /** The scenarios that pass at the reference server and fail behind the gate. Empty: the gate speaks this version. */
  readonly notYet: readonly string[];
}

/** The versions that the suite tries. The spec compares each member exactly: remove a scenario here when it begins to pass. */
export const protocolVersions: readonly TriedVersion[] = [
  { version: '2025-03-26', scenarios: 1, approvals: 0, notYet: [] },
  { version: '2025-06-18', scenarios: 27, approvals: 10, notYet: [] },
  { version: '2025-11-25', scenarios: 33, approvals: 13, notYet: [] },
  { version: '2026-07-28', scenarios: 40, approvals: 30, notYet: [] },
];

/** The extension for tasks, as the suite tries it with the version 2026-07-28. */
export const taskExtension: Omit<TriedVersion, 'version'> = { scenarios: 10, approvals: 'some', notYet: [] };
