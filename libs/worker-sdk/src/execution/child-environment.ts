/** The environment for a process that a gate starts: without our own settings, which hold tokens. */
export function childEnvironment(env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(env).filter(
      (entry): entry is [string, string] => entry[1] !== undefined && !entry[0].startsWith('COUNTERSIGN_'),
    ),
  );
}
