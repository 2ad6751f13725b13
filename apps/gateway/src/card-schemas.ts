import { approvalViewSchema, cardFormatSchema, jsonObjectSchema } from '@countersign/contracts';
import { z } from 'zod';

const proposalDigestSchema = z.string().meta({ description: 'The digest of the proposal that the card shows.' });
const shownDigestSchema = z
  .string()
  .meta({ description: 'The digest of the proposal and its instructions, as the card shows them.' });

const cardDecisionSchema = z
  .enum(['approve', 'deny'])
  .meta({ id: 'CardDecision', description: 'A decision that a button stands for.' });

const cardPressSchema = z
  .strictObject({
    value: z.string().meta({
      description:
        'What the button carries: at most 64 bytes. It is no secret and no proof: compare it with those that you sent.',
    }),
    decision: cardDecisionSchema,
    request: z
      .strictObject({
        decision: z
          .strictObject({ type: cardDecisionSchema })
          .meta({ id: 'CardPressDecision', description: 'The decision as a response carries it.' }),
        proposalDigest: proposalDigestSchema,
        shownDigest: shownDigestSchema.exactOptional(),
        shownRevision: approvalViewSchema.shape.shownRevision.exactOptional(),
        shownOthersDigest: approvalViewSchema.shape.shownOthersDigest,
      })
      .meta({
        id: 'CardPressRequest',
        description:
          'The body of the response, to be sent as it is. A denial names the proposal alone, so that nothing that others say or withdraw makes it an old one.',
      }),
  })
  .meta({ id: 'CardPress', description: 'A button of a card, and the response that a press on it stands for.' });

export const approvalCardSchema = z
  .strictObject({
    approvalId: z.string(),
    format: cardFormatSchema,
    state: approvalViewSchema.shape.state,
    actionDigest: z.string(),
    proposalDigest: proposalDigestSchema,
    shownDigest: shownDigestSchema,
    allowedDecisions: approvalViewSchema.shape.allowedDecisions,
    mayDecide: approvalViewSchema.shape.mayDecide,
    card: jsonObjectSchema.meta({
      description:
        'What to send: the parameters of `sendMessage` without the chat, those of `chat.postMessage` without the channel, an Adaptive Card, or `{ text }`.',
    }),
    presses: z.array(cardPressSchema).meta({
      description:
        'One for each button of the card. Without `approve`, the card does not show everything: it is approved elsewhere. Empty: there is nothing to decide.',
    }),
    passOn: z.string().meta({ description: 'What to do with the card and with a press, in words.' }),
  })
  .meta({ id: 'ApprovalCard', description: 'An approval as a message of a bot, and what to send back with a press.' });
