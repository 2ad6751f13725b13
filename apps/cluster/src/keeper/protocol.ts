import { z } from 'zod';

/** The most ids of one request. */
export const idsMax = 1000;

const id = z.string().min(1).max(200);
const ids = z.array(id).max(idsMax);
const owner = { tenant: z.string().max(256), subject: z.string().max(4096) };
const key = z.object({ id, bytes: z.base64() });
const number = z.int().min(0);

/** The state of the keys. It changes with every step of an erasure; `erased` only with what reads as erased. */
const versionSchema = z.object({ epoch: id, number, erased: z.string() });

export type Version = z.output<typeof versionSchema>;

/**
 * A process's confirmation: up to which version it has dropped its keys, and has written its copies again. `progress` changes
 * while it writes them.
 */
const confirmedSchema = z.object({
  epoch: z.string().max(200),
  dropped: number,
  rewritten: number,
  progress: number.default(0),
});

export type Confirmed = z.output<typeof confirmedSchema>;

/** The requests of the keeper: each is `POST /v1/<name>`, and names the session of the process that asks. */
export const requests = {
  /** The session goes on, and the process learns of changes. `loanMs`: how long its loan lasts from here on. */
  follow: { body: z.object({ confirmed: confirmedSchema }), answer: z.object({ loanMs: number }) },
  /** The process ends, and has no key any more. */
  leave: { body: z.object({}), answer: z.object({}) },
  current: { body: z.object(owner), answer: key },
  keys: {
    body: z.object({ ids }),
    answer: z.object({ keys: z.record(z.string(), z.string()), erased: z.array(id) }),
  },
  copies: { body: z.object({ owner: id }), answer: key },
  subject: { body: z.object(owner), answer: z.object({ hash: z.string(), ids: z.array(id) }) },
  /** Answered when no process can use the keys for new values any more. */
  retire: { body: z.object(owner), answer: z.object({ ids: z.array(id) }) },
  begin: { body: z.object({ ids }), answer: z.object({}) },
  keep: { body: z.object({ ids }), answer: z.object({}) },
  /** Answered when no process has the keys or a copy of their values any more. */
  destroy: { body: z.object({ ids }), answer: z.object({}) },
} as const;

export type RequestName = keyof typeof requests;
export type Body<Name extends RequestName> = z.output<(typeof requests)[Name]['body']>;
export type Answer<Name extends RequestName> = z.output<(typeof requests)[Name]['answer']>;

/** The envelope of each request's body, and of its answer. */
export const envelope = {
  request: z.object({ session: id, body: z.unknown() }),
  answer: z.object({ version: versionSchema, answer: z.unknown() }),
};
