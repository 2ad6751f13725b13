import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const countersign = join(import.meta.dirname, '..', '..', '..', '..', 'apps', 'cli', 'bin', 'countersign.js');

/** `countersign topics create`, as an operator runs it. */
export async function createTopics(env: Readonly<Record<string, string>>): Promise<void> {
  await promisify(execFile)(process.execPath, [countersign, 'topics', 'create'], { env: { ...process.env, ...env } });
}
