import { z } from 'zod';

const userSchema = z.object({ id: z.string().max(64), team_id: z.string().max(64).optional() });
const teamSchema = z.object({ id: z.string().max(64) }).nullish();

const blockActionsSchema = z.object({
  type: z.literal('block_actions'),
  user: userSchema,
  team: teamSchema,
  trigger_id: z.string().max(512).optional(),
  container: z.object({ channel_id: z.string().optional(), message_ts: z.string().optional() }).optional(),
  actions: z.array(z.object({ action_id: z.string().max(255), value: z.string().max(2000).optional() })).min(1),
});

const stateValueSchema = z.object({
  value: z.string().nullish(),
  selected_option: z.object({ value: z.string() }).nullish(),
});

const viewSubmissionSchema = z.object({
  type: z.literal('view_submission'),
  user: userSchema,
  team: teamSchema,
  view: z.object({
    id: z.string().max(64),
    hash: z.string().max(128).optional(),
    callback_id: z.string().max(255),
    private_metadata: z.string().max(3000),
    state: z.object({ values: z.record(z.string(), z.record(z.string(), stateValueSchema)) }),
  }),
});

const payloadSchema = z.discriminatedUnion('type', [blockActionsSchema, viewSubmissionSchema]);

/** The relevant part of Slack's payload of a press or a submitted modal. */
export type SlackPayload = z.infer<typeof payloadSchema>;
export type BlockActions = z.infer<typeof blockActionsSchema>;
export type ViewSubmission = z.infer<typeof viewSubmissionSchema>;

/** Parses a payload of Slack; undefined for any other kind. */
export function readSlackPayload(text: string): SlackPayload | undefined {
  try {
    return payloadSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}

/** The person's own workspace and user: in a channel shared with another company the two workspaces differ. */
export function slackIdentity({ user, team }: Pick<SlackPayload, 'user' | 'team'>): string {
  return `${user.team_id ?? team?.id ?? ''}:${user.id}`;
}
