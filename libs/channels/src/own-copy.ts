import { sleep } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import type { AnswerTokens } from './answer-token.js';
import type { ResponsePort } from './response-port.js';

const [triesMax, pauseMs] = [10, 200];

/**
 * Returns whether a press comes from a message that this channel has sent for the approval in its token. A press may be faster
 * than the record of the message. A value that is no token of ours is about no approval, and passes.
 *
 * Attack: the button of a card in one chat is pressed, or its card shown anew, in another chat.
 */
export async function isOnOwnCopy(
  { value = '', messageRef }: { readonly value: string | undefined; readonly messageRef: string | undefined },
  { tokens, responses, clock, channelId }: OwnCopyPorts,
): Promise<boolean> {
  const token = tokens.open(value);
  if (token === undefined) return true;
  if (messageRef === undefined || responses.copies === undefined) return false;
  for (let tries = 1; ; tries += 1) {
    if ((await responses.copies(token.approvalId, channelId)).includes(messageRef)) return true;
    if (tries === triesMax) return false;
    await sleep(clock, pauseMs);
  }
}

interface OwnCopyPorts {
  readonly tokens: AnswerTokens;
  readonly responses: ResponsePort;
  readonly clock: Clock;
  readonly channelId: string;
}
