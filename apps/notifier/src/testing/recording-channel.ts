import type { Channel, Notice, SendResult } from '@countersign/channels';

/** A channel that keeps its messages and returns what a test sets. */
export interface RecordingChannel extends Channel {
  readonly sent: (readonly Notice[])[];
  readonly updated: { readonly messageRef: string; readonly notice: Notice }[];
  /** The results of the next tries; after them all are delivered. */
  readonly answers: (SendResult | Promise<SendResult> | ((notices: readonly Notice[]) => SendResult | undefined))[];
}

export function createRecordingChannel(change: Partial<Channel> = {}): RecordingChannel {
  const sent: RecordingChannel['sent'] = [];
  const updated: RecordingChannel['updated'] = [];
  const answers: RecordingChannel['answers'] = [];
  return {
    id: 'ops',
    type: 'slack',
    addressing: 'shared',
    gatherMs: 0,
    tellsOutcomeBelow: false,
    ...change,
    sent,
    updated,
    answers,
    send: async (notices) => {
      const given = answers.shift();
      const answer = await (typeof given === 'function' ? given(notices) : given);
      if (answer === undefined || answer.status === 'delivered') sent.push(notices);
      return answer ?? { status: 'delivered', messageRef: `m${String(sent.length)}` };
    },
    update: async (messageRef, notice) => {
      updated.push({ messageRef, notice });
      return { status: 'delivered', messageRef };
    },
  };
}
