import { z } from 'zod';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { reasonMax } from './adaptive-card.js';

const id = z.string().max(400);

const activitySchema = z.object({
  type: z.string().max(64),
  name: z.string().max(128).optional(),
  channelId: z.literal('msteams'),
  serviceUrl: z.string().max(1_000),
  from: z.object({ aadObjectId: id.optional(), tenantId: id.optional() }),
  conversation: z.object({ id, tenantId: id.optional() }),
  /** The message whose card was pressed. */
  replyToId: id.optional(),
  channelData: z.object({ tenant: z.object({ id }).optional() }).optional(),
  value: z.unknown(),
});

const actionSchema = z.object({
  action: z.object({
    type: z.literal('Action.Execute'),
    verb: z.string().max(128),
    data: z.object({ value: z.string().max(512), reason: z.string().optional() }),
  }),
});

/** The relevant part of an activity of Teams. */
export type Activity = z.infer<typeof activitySchema>;

/** Parses an activity; undefined for what is none of Teams. */
export function readActivity(body: Uint8Array): Activity | undefined {
  try {
    return activitySchema.safeParse(JSON.parse(Buffer.from(body).toString())).data;
  } catch {
    return undefined;
  }
}

/** A pressed button of a card. */
export interface TeamsPress {
  readonly verb: string;
  readonly value: string;
  readonly reason?: string;
}

/** The press of an activity; undefined when it is none of a card. */
export function pressOf({ type, name, value }: Activity): TeamsPress | undefined {
  if (type !== 'invoke' || name !== 'adaptiveCard/action') return undefined;
  const { verb, data } = actionSchema.safeParse(value).data?.action ?? {};
  if (verb === undefined || data === undefined) return undefined;
  const reason = data.reason?.trim().slice(0, reasonMax) ?? '';
  return { verb, value: data.value, ...(reason === '' ? {} : { reason }) };
}

/**
 * The tenant and object id of the person who acted. Undefined unless everything that the activity says of a tenant names that of
 * the channel: in a shared channel there are people of others.
 */
export function teamsIdentity(
  { from, conversation, channelData }: Activity,
  { tenant }: Pick<ChannelConfigOf<'teams'>, 'tenant'>,
): string | undefined {
  const named = [from.tenantId, conversation.tenantId, channelData?.tenant?.id].filter((one) => one !== undefined);
  const isOurs = named.length > 0 && named.every((one) => one.toLowerCase() === tenant);
  return isOurs && from.aadObjectId !== undefined ? `${tenant}:${from.aadObjectId.toLowerCase()}` : undefined;
}
