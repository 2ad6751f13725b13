// The command `countersign` on the path of an agent, also in its broken forms.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';

const cli = join(import.meta.dirname, '..', '..', '..', 'apps', 'cli', 'bin', 'countersign.js');

/** `impatient`: the hook waits one second for people, not the time of the example. */
export type Form = 'as it is' | 'impatient' | 'killed' | 'not found' | 'timed out';

/** Puts the command into a folder, and returns a `PATH` where no other `countersign` is found. */
export function pathWith(form: Form, folder: string): string {
  mkdirSync(folder, { recursive: true });
  const real = `exec '${process.execPath}' '${cli}' "$@"`;
  const forms: Record<Exclude<Form, 'not found'>, string> = {
    'as it is': real,
    impatient: `case "$*" in *--post*) ;; *) set -- "$@" --hold 1s ;; esac\n${real}`,
    killed: 'kill -9 $$',
    'timed out': 'exec sleep 20',
  };
  if (form !== 'not found') {
    writeFileSync(join(folder, 'countersign'), `#!/bin/sh\n${forms[form]}\n`, { mode: 0o755 });
  }
  const others = (process.env['PATH'] ?? '').split(delimiter).filter((path) => !existsSync(join(path, 'countersign')));
  return [folder, dirname(process.execPath), ...others].join(delimiter);
}
