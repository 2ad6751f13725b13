import { createAnswerTokens } from '../answer-token.js';
import type { AnswerTokens } from '../answer-token.js';
import type { ChannelConfigOf } from '../config/load-channels.js';

/** The tokens in the links of a mail channel. */
export function createEmailTokens({ smtp, id }: ChannelConfigOf<'email'>): AnswerTokens {
  return createAnswerTokens(smtp, id);
}
