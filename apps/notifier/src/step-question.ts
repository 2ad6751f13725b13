import type { Channel, ChannelsConfig, Notice, PeopleNow } from '@countersign/channels';
import type { Approval } from '@countersign/domain';
import { askedTogether, toStepQuestion } from '@countersign/read-model';
import type { AskedCall, CallRow } from '@countersign/read-model';
import type { Clock } from '@countersign/runtime';
import { rowReader } from './notice.js';
import type { CallSource } from './notice.js';
import { questionKinds, questionMessages } from './wanted-messages.js';

/** Programs count each question and its outcome by themselves. */
const isForPeople = ({ type }: Channel): boolean => type !== 'webhook';

interface Ports extends Pick<ChannelsConfig, 'routes'>, CallSource {
  readonly people: PeopleNow;
  readonly clock: Pick<Clock, 'now'>;
}

/** How long until a step of which calls are missing is looked at again: as long as it has waited, within these limits. */
const againMs = { min: 500, max: 60_000 };

/**
 * A question with all that its rule asks together with it (`batch: any-asks-all`). Undefined where another message asks: that
 * of the first pending call of the step that a route leads here; and as long as calls of the step are missing. Then it calls
 * `later`: the last call may be recorded long after a crash, and a call of another rule has no message about the others.
 */
export async function wholeQuestion(
  call: CallRow,
  approval: Approval | null,
  notice: Notice,
  channel: Channel,
  ports: Ports & { readonly later: (dueAtMs: number) => void },
): Promise<Notice | undefined> {
  if (!questionKinds.includes(notice.kind) || approval?.resolution.status !== 'pending' || !isForPeople(channel))
    return notice;
  const { asked, isWhole } = await askedTogether(rowReader(ports), { call, approval });
  if (asked.length === 0) return notice;
  const first = asked.find((one) => recipientsOf(one, channel, ports).includes(notice.recipient?.id ?? null));
  const isAsking = first === undefined || first.approval.approvalId === approval.approvalId;
  if (!isAsking) return undefined;
  if (isWhole) return { ...notice, ...toStepQuestion({ call, approval }, asked) };
  if (notice.kind === 'requested') ports.later(nextLookMs(approval, ports.clock.now()));
  return undefined;
}

function nextLookMs({ requestedAt }: Approval, now: number): number {
  return now + Math.min(Math.max(now - Date.parse(requestedAt), againMs.min), againMs.max);
}

/** The other questions whose messages ask about the step of a question now. */
export async function askingFor(
  call: CallRow,
  approval: Approval | null,
  channel: Channel,
  ports: Ports,
): Promise<readonly AskedCall[]> {
  if (approval === null || !isForPeople(channel)) return [];
  const { asked } = await askedTogether(rowReader(ports), { call, approval });
  const told = new Set<string | null>();
  return asked.filter((one) => {
    const more = recipientsOf(one, channel, ports).filter((recipient) => !told.has(recipient));
    for (const recipient of more) told.add(recipient);
    return more.length > 0 && one.approval.approvalId !== approval.approvalId;
  });
}

/** Whom the channel asks about a question; null: all who read it. */
function recipientsOf({ call, approval }: AskedCall, channel: Channel, ports: Ports): readonly (string | null)[] {
  const messages = questionMessages(call, approval, channel, ports, ports.clock.now());
  return messages.map(({ key }) => key.recipient);
}
