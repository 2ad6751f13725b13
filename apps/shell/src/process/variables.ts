import { logLevels } from '@countersign/runtime';
import { z } from 'zod';
import { parseOrigins } from '../http/cors.js';

// The variables that several kinds of processes know. Values stay what a person wrote until the process makes sense of them.

/** A port number with a default. */
export const portVariable = (port: number): z.ZodType<number, string | undefined> =>
  z
    .string()
    .regex(/^[0-9]{1,5}$/, 'must be a port number')
    .transform(Number)
    .pipe(z.int().max(65_535, 'must be a port number, at most 65535'))
    .default(port);

/** Common to every process. */
export const processVariables = {
  COUNTERSIGN_HOST: z.string().default('127.0.0.1'),
  COUNTERSIGN_PORT: portVariable(7400),
  COUNTERSIGN_DATA: z.string().default('./data'),
  COUNTERSIGN_LOG_LEVEL: z.enum(logLevels, `must be one of ${logLevels.join(', ')}`).default('info'),
};

const perSecond = 'must be a whole number from 1 to 1000000';

/** For processes that receive requests. */
export const servingVariables = {
  COUNTERSIGN_REQUESTS_PER_SECOND: z
    .string()
    .regex(/^[0-9]{1,7}$/, 'must be a whole number')
    .transform(Number)
    .pipe(z.int().min(1, perSecond).max(1_000_000, perSecond))
    .default(5000),
};

const originsVariable = z
  .string()
  .transform((list, context) => {
    const origins = parseOrigins(list);
    if (!('wrong' in origins)) return origins;
    context.addIssue(origins.wrong);
    return z.NEVER;
  })
  .default([]);

/** For processes that pages in a browser use: those that may call the API, and those that may frame the inbox. */
export const browsedVariables = {
  COUNTERSIGN_CORS_ORIGINS: originsVariable,
  COUNTERSIGN_FRAME_ANCESTORS: originsVariable,
};

/** For processes that receive the answers of people. */
export const answeringVariables = {
  COUNTERSIGN_RECORD_ADDRESSES: z.enum(['true', 'false'], 'must be true or false').default('false'),
};

/** For processes that sign receipts. */
export const receiptVariables = {
  COUNTERSIGN_RECEIPT_KEY_FILE: z.string().optional(),
  COUNTERSIGN_RECEIPT_NAMES: z.enum(['true', 'false'], 'must be true or false').default('false'),
};

/** The name of the log in its checkpoints. */
export const logOriginVariable = z
  .string()
  .regex(/^[A-Za-z0-9._~:/-]{1,200}$/, 'must be a name such as countersign.example.com/ledger, without https://')
  .refine((origin) => !origin.includes('//') && !/^\/|\/$/.test(origin), 'must have no empty part between slashes');

/** A program that signs checkpoints. */
export const logSignerVariable = z
  .string()
  .regex(/^exec:\s*\S/, 'must be exec: and a program with its arguments, such as exec:/usr/local/bin/sign-log')
  .optional();

/** What of the tree over the log is open without a token. */
export const logPublicVariable = z.enum(['no', 'hashes'], 'must be `hashes`, or `no`').default('no');

/** For processes that get time stamps of checkpoints. */
export const timestampVariables = {
  COUNTERSIGN_TSA_URL: z.string().optional(),
  COUNTERSIGN_TSA_CA: z.string().optional(),
  COUNTERSIGN_TSA_PRIVATE: z.literal('true', 'must be `true`, or unset').optional(),
  COUNTERSIGN_TSA_INTERVAL_MS: z
    .string()
    .regex(/^[0-9]{4,9}$/, 'must be a whole number of milliseconds, from 1000 to 604800000')
    .transform(Number)
    .pipe(z.int().min(1_000).max(604_800_000, 'must be at most 604800000, a week'))
    .optional(),
};

/** For processes that judge requests. */
export const judgingVariables = {
  COUNTERSIGN_POLICY: z.string().optional(),
  COUNTERSIGN_POLICY_SHADOW: z.string().optional(),
  COUNTERSIGN_ACCEPT_UNREADABLE_POLICY: z.uuid('must be the id of the event that cannot be read').optional(),
  COUNTERSIGN_TOOLS: z.string().optional(),
};

/** For processes that send messages and receive responses. */
export const tellingVariables = {
  COUNTERSIGN_CHANNELS: z.string().optional(),
  COUNTERSIGN_PUBLIC_URL: z
    .url({ protocol: /^https?$/, error: 'must be a URL that begins with https:// or http://', abort: true })
    .refine(isRoot, {
      error:
        'must have no path, query, fragment or user: give Countersign a host of its own, such as https://approvals.example.com',
    })
    .optional(),
};

/** The pages, the links and the callbacks of a gateway begin at the root of its host. */
function isRoot(url: string): boolean {
  const { href, origin } = new URL(url);
  return href === `${origin}/`;
}
