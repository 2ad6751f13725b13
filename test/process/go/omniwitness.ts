import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  createEd25519Signer,
  createMlDsaSigner,
  formatVkey,
  keyTypes,
  parseVkey,
  verifierKey,
} from '@countersign/audit';
import { freePort } from '../../ports.js';
import { onCleanup } from '../harness/cleanup.js';
import { eventually } from '../harness/wait.js';

/** A running witness that others wrote. */
export interface Omniwitness {
  /** Its Ed25519 key, and its ML-DSA-44 key. */
  readonly vkeys: readonly string[];
  /** A file in the format of `tlog-policy` that demands its cosignatures with both. */
  readonly policy: string;
  /** The settings of the process that asks it. */
  readonly env: Readonly<Record<string, string>>;
}

const name = 'witness.example';

/**
 * Starts the program `omniwitness` of a folder for the logs of these keys; it ends with the test, and keeps its state in memory. It
 * cosigns with an Ed25519 and an ML-DSA-44 key. A log has one key there: the ML-DSA-44 key where one is given.
 */
export async function startOmniwitness(folder: string, vkeys: readonly string[]): Promise<Omniwitness> {
  const seed = randomBytes(32);
  const mlDsa = createMlDsaSigner(name, seed)?.key;
  if (mlDsa === undefined) throw new Error('this Node has no ML-DSA');
  const key = verifierKey(name, keyTypes.cosignature, createEd25519Signer(name, seed).key.key);
  const files = [key, mlDsa].map(({ id, type }) => {
    const file = join(folder, `witness-${String(type)}.key`);
    writeFileSync(file, `PRIVATE+KEY+${name}+${id}+${Buffer.concat([Buffer.of(type), seed]).toString('base64')}`);
    return `--private_key_path=${file}`;
  });
  const byType = vkeys.map((vkey) => parseVkey(vkey)!).toSorted((one, other) => one.type - other.type);
  const byName = new Map(byType.map((one) => [one.name, one]));
  const logs = [...byName.values()].map((one) => `  - Origin: ${one.name}\n    PublicKey: ${formatVkey(one)}\n`);
  writeFileSync(join(folder, 'logs.yaml'), `Logs:\n${logs.join('')}`);
  const listen = `127.0.0.1:${String(await freePort())}`;
  const args = [...files, `--additional_logs=${join(folder, 'logs.yaml')}`, `--listen=${listen}`, '--metrics_listen='];
  const child = spawn(join(folder, 'omniwitness'), args, { stdio: ['ignore', 'ignore', 'pipe'] });
  let written = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (written += text));
  const ended = new Promise((resolve) => child.once('close', resolve));
  onCleanup(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  const url = `http://${listen}/`;
  await eventually('the witness to listen', async () => {
    if (child.exitCode !== null) throw new Error(`omniwitness ended: ${written}`);
    return fetch(url).catch(() => undefined);
  });
  const policy = join(folder, 'witnesses');
  const witnesses = [`outside ${formatVkey(key)} ${url}`, `lattice ${formatVkey(mlDsa)} ${url}`];
  const lines = [...witnesses.map((one) => `witness ${one}`), 'group both all outside lattice', 'quorum both'];
  writeFileSync(policy, `${lines.join('\n')}\n`);
  return {
    vkeys: [key, mlDsa].map(formatVkey),
    policy,
    env: { COUNTERSIGN_WITNESSES: policy, COUNTERSIGN_WITNESS_PRIVATE: 'true' },
  };
}
