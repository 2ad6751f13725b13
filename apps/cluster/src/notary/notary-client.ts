import type { LogCheckpoints, LogTiles } from '@countersign/gateway';
import type { Clock, Secret } from '@countersign/runtime';
import { ProblemError } from '@countersign/shell';
import { createProcessClient, whyNot } from '../process-client.js';
import type { ProcessClient } from '../process-client.js';
import { envelope, requests } from './protocol.js';
import type { Answer, Body, RequestName } from './protocol.js';

/** The notaries of the cluster, and how a gateway shows that it may ask. */
export interface NotaryConnection {
  readonly urls: readonly URL[];
  readonly token: Secret;
  /** The authority of their certificates; null: the system's. */
  readonly ca: string | null;
}

/** The notaries, as a gateway asks them. */
export interface NotaryClient extends LogCheckpoints, LogTiles {
  /** Why commands are refused: the log contradicts what was signed. Undefined: they are not. */
  readonly readOnly: () => Promise<string | undefined>;
  readonly close: () => void;
}

const readMsMax = 3_000;
/** A notary takes what is recorded until then, and signs it. */
const signMsMax = 20_000;

interface Asked<Name extends RequestName> {
  readonly isActive: boolean;
  readonly answer: Answer<Name>;
}

/** Asks the active notary, and for what can be read the one that stands by while no active one answers. */
export function createNotaryClient({ urls, token, ca }: NotaryConnection, clock: Clock): NotaryClient {
  let clients = urls.map((url) => createProcessClient({ url, token, ca }, clock));
  const askOne = async <Name extends RequestName>(
    client: ProcessClient,
    name: Name,
    body: Body<Name>,
  ): Promise<Asked<Name>> => {
    const exchanged = await client.ask(
      name,
      JSON.stringify(body),
      name === 'sign' || name === 'goOn' ? signMsMax : readMsMax,
    );
    if (exchanged.status === 401) throw new Error('it does not know the token of COUNTERSIGN_NOTARY_TOKEN_FILE');
    if (exchanged.status !== 200) throw new Error(whyNot(exchanged));
    const { isActive, answer } = envelope.parse(JSON.parse(exchanged.bytes.toString('utf8')));
    return { isActive, answer: requests[name].answer.parse(answer) as Answer<Name> };
  };
  const ask = async <Name extends RequestName>(name: Name, body: Body<Name>): Promise<Answer<Name>> => {
    let standby: Asked<Name> | undefined;
    let why = 'none is named';
    for (const client of clients) {
      try {
        const asked = await askOne(client, name, body);
        if (asked.isActive) {
          clients = [client, ...clients.filter((other) => other !== client)];
          return asked.answer;
        }
        standby ??= asked;
      } catch (error) {
        why = error instanceof Error ? error.message : String(error);
      }
    }
    if (standby !== undefined) return standby.answer;
    throw new ProblemError('unavailable', `no notary of the cluster answers: ${why}`);
  };
  return {
    newest: async (tenant, isPending) => (await ask('newest', { tenant, isPending })).note ?? undefined,
    vkeys: async (tenant) => (await ask('vkeys', { tenant })).vkeys,
    keyChanges: async (tenant) => (await ask('keyChanges', { tenant })).changes,
    timestamps: async (tenant, wanted) =>
      (await ask('timestamps', { tenant, ...wanted })).stamps.map((stamp) => ({
        ...stamp,
        reply: Buffer.from(stamp.reply, 'base64'),
      })),
    sign: (tenant) => ask('sign', { tenant }),
    rewound: async (tenant) => (await ask('rewound', { tenant })).rewound ?? undefined,
    readOnly: async () => (await ask('readOnly', {})).why ?? undefined,
    goOn: (tenant) => ask('goOn', { tenant }),
    tenants: async () => (await ask('tenants', {})).tenants,
    hashTile: async (tenant, level, index) =>
      Buffer.from((await ask('hashTile', { tenant, level, index })).hashes, 'base64'),
    entryTile: async (tenant, index) => (await ask('entryTile', { tenant, index })).entries,
    prove: async (tenant, stream, checkpoint) => (await ask('prove', { tenant, stream, checkpoint })).events,
    close: () => {
      for (const client of clients) client.close();
    },
  };
}
