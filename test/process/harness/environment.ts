const kept = ['PATH', 'HOME', 'TMPDIR', 'SystemRoot', 'TEMP', 'NODE_COMPILE_CACHE'];

/** The part of the runner's environment that a started process gets. It has no `COUNTERSIGN_…` variables. */
export function inheritedEnvironment(): Record<string, string> {
  return Object.fromEntries(
    kept.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}
