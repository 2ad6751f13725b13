import { EventStoreUnavailableError } from '@countersign/event-store';
import type { OpenNotary } from '@countersign/notary';
import type { Log } from '@countersign/runtime';
import { checked, openProcessServer } from '../process-server.js';
import type { ProcessAddress, ProcessServer } from '../process-server.js';
import { requests } from './protocol.js';
import type { Answer, Body, RequestName } from './protocol.js';

type Handlers = { readonly [Name in RequestName]: (body: Body<Name>) => Promise<Answer<Name>> };

/** What a notary answers to the gateways. */
export type AnsweringNotary = Pick<
  OpenNotary,
  | 'newest'
  | 'vkeys'
  | 'keyChanges'
  | 'timestamps'
  | 'sign'
  | 'rewound'
  | 'whyReadOnly'
  | 'goOn'
  | 'isActive'
  | 'hashTile'
  | 'entryTile'
  | 'prove'
  | 'tenants'
>;

/** Serves a notary for the gateways. Resolves when it listens. */
export function openNotaryApp(notary: AnsweringNotary, log: Log, address: ProcessAddress): Promise<ProcessServer> {
  const handlers: Handlers = {
    newest: ({ tenant, isPending }) => Promise.resolve({ note: notary.newest(tenant, isPending) ?? null }),
    vkeys: async ({ tenant }) => ({ vkeys: [...(await notary.vkeys(tenant))] }),
    keyChanges: ({ tenant }) => Promise.resolve({ changes: [...notary.keyChanges(tenant)] }),
    timestamps: async ({ tenant, ...wanted }) => ({
      stamps: (await notary.timestamps(tenant, wanted)).map(({ reply, ...stamp }) => ({
        ...stamp,
        reply: Buffer.from(reply).toString('base64'),
      })),
    }),
    sign: ({ tenant }) => notary.sign(tenant),
    rewound: ({ tenant }) => Promise.resolve({ rewound: notary.rewound(tenant) ?? null }),
    readOnly: () => Promise.resolve({ why: notary.whyReadOnly() ?? null }),
    goOn: ({ tenant }) => notary.goOn(tenant),
    tenants: () => Promise.resolve({ tenants: [...notary.tenants()] }),
    hashTile: async ({ tenant, level, index }) => ({
      hashes: Buffer.from(await notary.hashTile(tenant, level, index)).toString('base64'),
    }),
    entryTile: async ({ tenant, index }) => ({ entries: [...(await notary.entryTile(tenant, index))] }),
    prove: async ({ tenant, stream, checkpoint }) => ({
      events: [...(await notary.prove(tenant, stream, checkpoint))],
    }),
  };
  return openProcessServer(
    {
      role: 'the notary',
      names: Object.keys(requests),
      isPassing: (error) => error instanceof EventStoreUnavailableError,
      answer: async (path, given) => {
        const name = path as RequestName;
        const answer = await handlers[name](checked<unknown>(requests[name].body, given) as never);
        return { isActive: notary.isActive(), answer };
      },
    },
    log,
    address,
  );
}
