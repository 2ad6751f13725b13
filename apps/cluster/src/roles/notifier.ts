import { hostname } from 'node:os';
import { fetchAnswers, isFetched, openChannels } from '@countersign/channels';
import type { ChannelConfig } from '@countersign/channels';
import { withVotesNow } from '@countersign/commands';
import {
  createChannelPeople,
  createFileTokens,
  createIsApprover,
  createPeople,
  createResponsePort,
} from '@countersign/gateway';
import type { FileTokens } from '@countersign/gateway';
import { createChannelsCheck, createNotifier, createNotifierApp, createNotifierMetrics } from '@countersign/notifier';
import type { Notifier } from '@countersign/notifier';
import type { CallRow } from '@countersign/read-model';
import { ConfigError } from '@countersign/runtime';
import type { Log } from '@countersign/runtime';
import { readOptionalPolicy } from '@countersign/shell';
import type { CheckResult, RuntimePorts } from '@countersign/shell';
import { readChannels } from '../channels.js';
import type { RoleConfig } from '../config.js';
import { openTopics } from '../kafka.js';
import { openRecord } from '../record.js';
import { openEventStore } from '../role-process.js';
import type { OpenRole } from '../role-process.js';
import { subscriptionCheck } from '../subscription-check.js';
import { openViews } from '../views.js';
import { openAnsweringWriteSide, openWriteSide } from '../write-side.js';

/** Sends messages through the channels of the channels file, and polls for responses that are not pushed. */
export async function readNotifier(config: RoleConfig, { log }: RuntimePorts): Promise<OpenRole> {
  const configured = readChannels(config, log);
  if (configured === undefined) {
    log.info({}, 'COUNTERSIGN_CHANNELS lists no channels: approvals are shown in the inbox only');
    return () => Promise.resolve();
  }
  const { routes, broken } = configured;
  const tokens = readTokens(config, configured.channels, log);
  const known = createPeople({ tokens: () => tokens, channels: configured, issuer: config.issuer });
  const policy = await readOptionalPolicy(config.policyFile, { ...known, groupsOf: () => null });
  const notifierId = `${hostname()}/${String(process.pid)}`;
  return async (roleProcess) => {
    const { ids, tracing, registry, onStop, check } = roleProcess;
    const ledgerStore = await openEventStore(roleProcess);
    const { store } = ledgerStore;
    await openRecord(roleProcess, ledgerStore.ownRecord, { tokens, channels: configured });
    const { clock } = store;
    const readModel = await openViews(roleProcess, ledgerStore);
    const { bus, names } = await openTopics(roleProcess, ({ events, deadLetters }) => [events, deadLetters]);
    const publicUrl = config.publicUrl?.href ?? null;
    const channels = await openChannels(configured, { clock, publicUrl });
    // Attack: an edit that no policy judges. This process may not know the file that the gateways judge by.
    const commands =
      policy === null
        ? openWriteSide(roleProcess, ledgerStore)
        : openAnsweringWriteSide(roleProcess, ledgerStore, policy, { people: { ...known, groupsOf: () => null } });
    // Without the tokens it receives no responses, so it only has to know whom to ask.
    const asked = tokens === undefined ? { approver: () => ({ groups: [], isAway: false }) } : known;
    const people = createChannelPeople(configured.people, commands.policies, asked, clock);
    // Without the tokens and the policy of the gateways it cannot say whose votes count no more, and shows all that are recorded.
    const votesNow =
      policy === null || tokens === undefined
        ? undefined
        : (call: CallRow) => withVotesNow({ ...commands, clock }, call);
    const notifier = createNotifier({
      store,
      readModel,
      votesNow,
      channels,
      people,
      routes,
      broken,
      clock,
      ids,
      log,
      tracing,
      notifierId,
    });
    createNotifierMetrics(registry, notifier);
    check(createChannelsCheck(() => notifier));
    check({ name: 'failed-deliveries', check: () => recoveryOf(notifier) });
    const app = await createNotifierApp({ notifier, bus, topic: names.events, log, tracing });
    onStop(() => app.close());
    notifier.start();
    await app.listen();
    for (const id of notifier.channelIds) check(subscriptionCheck(`consumer-${id}`, () => app.status()[id]));
    if (tokens === undefined) return;
    onStop(tokens.close);
    const isApprover = createIsApprover({ tokens }, { people: people(), log });
    const edits = policy === null ? 'refused' : 'judged';
    const responses = createResponsePort({ commands, store, isApprover, edits });
    onStop(await fetchAnswers(configured.channels, { responses, people, clock, log, publicUrl }));
  };
}

/** Says in the readiness whether the messages that failed before the start are planned again. */
function recoveryOf(notifier: Pick<Notifier, 'status'>): CheckResult {
  const { notRecovered } = notifier.status();
  return notRecovered === undefined ? { status: 'ok' } : { status: 'failing', why: notRecovered };
}

/** The tokens of the gateways, in a process that receives responses: they say who may respond. */
function readTokens(config: RoleConfig, channels: readonly ChannelConfig[], log: Log): FileTokens | undefined {
  const fetched = channels.filter(isFetched).map(({ id }) => id);
  if (fetched.length === 0) return undefined;
  if (config.tokensFile !== null) return createFileTokens(config.tokensFile, log);
  const problem = `is missing: the notifier fetches the answers of ${fetched.join(', ')}, and this file says who may answer`;
  throw new ConfigError([{ variable: 'COUNTERSIGN_TOKENS_FILE', problem }]);
}
