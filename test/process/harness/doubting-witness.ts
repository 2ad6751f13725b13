import { generateKeyPairSync, sign } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import {
  cosignedText,
  formatSignatureLine,
  formatTimestamped,
  formatVkey,
  keyTypes,
  parseNote,
  verifierKey,
} from '@countersign/audit';
import { onCleanup, temporaryFolder } from './cleanup.js';

/** A witness that cosigns every checkpoint, until it says that it has seen more of the log's epoch than there is. */
export interface DoubtingWitness {
  /** The settings of the process that asks it. */
  readonly env: Readonly<Record<string, string>>;
  readonly doubt: () => void;
}

/** Starts the witness; it ends with the test. */
export async function startDoubtingWitness(): Promise<DoubtingWitness> {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const raw = publicKey.export({ type: 'spki', format: 'der' }).subarray(-32);
  const key = verifierKey('doubting', keyTypes.cosignature, raw);
  const cosigned = (signed: string): string => {
    const time = 1_800_000_000n;
    const signature = sign(null, Buffer.from(cosignedText(signed, time)), privateKey);
    return formatSignatureLine({ name: key.name, id: key.id, signature: formatTimestamped({ time, signature }) });
  };
  const doubt = { isOn: false, epoch: undefined as string | undefined };
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      const signed = parseNote(body.slice(body.indexOf('\n\n') + 2))?.text ?? '';
      const [epoch] = signed.split('\n');
      if (doubt.isOn) doubt.epoch ??= epoch;
      if (epoch === doubt.epoch) response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end('1000000\n');
      else response.end(`${cosigned(signed)}\n`);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onCleanup(() => {
    server.closeAllConnections();
    server.close();
  });
  const policy = join(temporaryFolder(), 'witnesses');
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/`;
  writeFileSync(policy, `witness doubting ${formatVkey(key)} ${url}\nquorum none\n`);
  return {
    env: { COUNTERSIGN_WITNESSES: policy, COUNTERSIGN_WITNESS_PRIVATE: 'true' },
    doubt: () => {
      doubt.isOn = true;
    },
  };
}
