import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { generateKeyPairSync, sign } from 'node:crypto';
import {
  cosignedText,
  formatSignatureLine,
  formatTimestamped,
  isSameHash,
  keyTypes,
  parseCheckpoint,
  parseNote,
  verifierKey,
  verifyConsistency,
} from '@countersign/audit';

/** Answers one request of a log. */
export type Handle = (body: string, response: ServerResponse) => void;

/** The key of a witness, and the cosignatures that it makes. */
export function createKey(name: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const key = verifierKey(name, keyTypes.cosignature, publicKey.export({ type: 'spki', format: 'der' }).subarray(-32));
  const lineOf = (text: string, time = 1_800_000_000n): string => {
    const signature = formatTimestamped({
      time,
      signature: sign(null, Buffer.from(cosignedText(text, time)), privateKey),
    });
    return `${formatSignatureLine({ name, id: key.id, signature })}\n`;
  };
  return { key, lineOf };
}

/** A witness that accepts what C2SP's tlog-witness accepts, and answers with `instead` where that is given. */
export async function startWitness(name: string) {
  const { key, lineOf } = createKey(name);
  const seen = { origin: '', size: 0, root: Buffer.alloc(0) as Uint8Array };
  const witness = { key, lineOf, seen, asked: 0, url: '', instead: undefined as Handle | undefined };
  const judge: Handle = (body, response) => {
    const split = body.indexOf('\n\n');
    const [first = '', ...lines] = body.slice(0, split).split('\n');
    const note = parseNote(body.slice(split + 2));
    const { origin, size, root } = parseCheckpoint(note!.text)!;
    // Each epoch is a log of its own.
    if (origin !== seen.origin) Object.assign(seen, { origin, size: 0, root: Buffer.alloc(0) });
    const old = Number(/^old (\d+)$/.exec(first)?.[1]);
    if (old !== seen.size) {
      response.writeHead(409, { 'content-type': 'text/x.tlog.size' }).end(`${String(seen.size)}\n`);
      return;
    }
    if (old === size && !isSameHash(root, seen.root) && seen.size > 0) {
      // The protocol has a size in this answer for another size alone.
      response.writeHead(409).end();
      return;
    }
    const proof = lines.map((line) => Buffer.from(line, 'base64'));
    const isProven =
      old === 0
        ? proof.length === 0
        : verifyConsistency({ first: old, firstRoot: seen.root, second: size, secondRoot: root, proof });
    if (!isProven) response.writeHead(422).end();
    else {
      Object.assign(seen, { size, root });
      response.end(lineOf(note!.text));
    }
  };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      witness.asked += 1;
      (request.url === '/w/add-checkpoint' ? (witness.instead ?? judge) : refuse)(
        Buffer.concat(chunks).toString(),
        response,
      );
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  witness.url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}/w/`;
  const close = (): void => {
    server.closeAllConnections();
    server.close();
  };
  return Object.assign(witness, { close });
}

/** A witness of a test. */
export type Witness = Awaited<ReturnType<typeof startWitness>>;

/** Answers nothing that the log asks. */
export const refuse: Handle = (_body, response) => void response.writeHead(404).end();
