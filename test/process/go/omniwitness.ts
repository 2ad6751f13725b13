import { spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { formatVkey, keyTypes, parseVkey, verifierKey } from '@countersign/audit';
import { freePort } from '../../ports.js';
import { onCleanup } from '../harness/cleanup.js';
import { eventually } from '../harness/wait.js';

/** A running witness that others wrote. */
export interface Omniwitness {
  readonly vkey: string;
  /** A file in the format of `tlog-policy` that demands its cosignature. */
  readonly policy: string;
  /** The settings of the process that asks it. */
  readonly env: Readonly<Record<string, string>>;
}

const name = 'witness.example';

/** Starts the program `omniwitness` of a folder for the logs of these keys; it ends with the test, and keeps its state in memory. */
export async function startOmniwitness(folder: string, vkeys: readonly string[]): Promise<Omniwitness> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const seed = privateKey.export({ type: 'pkcs8', format: 'der' }).subarray(-32);
  const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
  const key = verifierKey(name, keyTypes.cosignature, raw);
  const encoded = Buffer.concat([Buffer.of(keyTypes.ed25519), seed]).toString('base64');
  writeFileSync(join(folder, 'witness.key'), `PRIVATE+KEY+${name}+${key.id}+${encoded}`);
  // It reads no ML-DSA-44 keys.
  const known = vkeys.filter((vkey) => parseVkey(vkey)?.type === keyTypes.ed25519);
  const logs = known.map((vkey) => `  - Origin: ${parseVkey(vkey)!.name}\n    PublicKey: ${vkey}\n`);
  writeFileSync(join(folder, 'logs.yaml'), `Logs:\n${logs.join('')}`);
  const listen = `127.0.0.1:${String(await freePort())}`;
  const files = [`--private_key_path=${join(folder, 'witness.key')}`, `--additional_logs=${join(folder, 'logs.yaml')}`];
  const args = [...files, `--listen=${listen}`, '--metrics_listen='];
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
  writeFileSync(policy, `witness outside ${formatVkey(key)} ${url}\nquorum outside\n`);
  return {
    vkey: formatVkey(key),
    policy,
    env: { COUNTERSIGN_WITNESSES: policy, COUNTERSIGN_WITNESS_PRIVATE: 'true' },
  };
}
