/** Called at a named place in the code; kills the process there when told to. */
export type CrashPoint = (name: string) => void;

/**
 * A crash point armed by a setting of the form `name` or `name:n`: the n-th passing of that name calls `die`.
 * The default death is SIGKILL, which no handler sees: what a power cut or an out-of-memory kill looks like.
 */
export function createCrashPoint(setting: string | undefined, die: () => void = killSelf): CrashPoint {
  if (setting === undefined || setting === '') return () => undefined;
  const [, armed = setting, nth = '1'] = /^(.*?)(?::(\d+))?$/.exec(setting) ?? [];
  let left = Number(nth);
  return (name) => {
    if (name !== armed) return;
    left -= 1;
    if (left === 0) die();
  };
}

function killSelf(): void {
  process.kill(process.pid, 'SIGKILL');
}

let fromEnvironment: CrashPoint | undefined;

/**
 * A place where tests of real processes kill the process, if the environment variable `COUNTERSIGN_CRASH_AT` names it.
 * Otherwise it does nothing.
 */
export function crashPoint(name: string): void {
  fromEnvironment ??= createCrashPoint(process.env['COUNTERSIGN_CRASH_AT']);
  fromEnvironment(name);
}
