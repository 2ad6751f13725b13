import { localError } from '../cli-error.js';
import type { LedgerClient } from '../connection/ledger-client.js';
import type { ExportedStamp } from './timestamp-files.js';

/** A time stamp as the server lists it. */
export interface ServedStamp extends ExportedStamp {
  readonly time: string;
}

/** A page of the time stamps that a server has. A server of an older version has none. @throws CliError */
export async function stampsOfServer(
  client: Pick<LedgerClient, 'look'>,
  query: Readonly<Record<string, string>>,
): Promise<readonly ServedStamp[]> {
  const { status, text } = await client.look(`/v1/log/timestamps?${new URLSearchParams(query).toString()}`);
  if (status === 404 || status === 409) return [];
  if (status !== 200) {
    const detail = `The server sent no time stamps (${String(status)}).`;
    throw localError('unreachable', 'unavailable', detail, 'Try again when its /readyz is fine.');
  }
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => {
      const stamp = readLine(line);
      if (stamp !== undefined) return stamp;
      throw localError(
        'unexpected',
        'no-timestamp',
        'The server sent no time stamps.',
        'Check --url or COUNTERSIGN_URL.',
      );
    });
}

/** All time stamps of a server, in their order. */
export async function* allStampsOfServer(client: Pick<LedgerClient, 'look'>): AsyncIterable<ServedStamp> {
  for (let after: string | undefined = '0.0'; after !== undefined;) {
    const page = await stampsOfServer(client, { after });
    yield* page;
    const last = page.at(-1);
    after = last === undefined ? undefined : `${String(last.epoch)}.${String(last.size)}`;
  }
}

function readLine(line: string): ServedStamp | undefined {
  const { epoch, size, time, checkpoint, timestamp } = (JSON.parse(line) ?? {}) as Readonly<Record<string, unknown>>;
  const isPlaced = Number.isSafeInteger(epoch) && Number.isSafeInteger(size);
  if (!isPlaced || typeof time !== 'string' || typeof checkpoint !== 'string' || typeof timestamp !== 'string')
    return undefined;
  return { epoch: Number(epoch), size: Number(size), time, text: checkpoint, reply: Buffer.from(timestamp, 'base64') };
}
