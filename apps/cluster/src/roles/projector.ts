import { closeBatch, endInside, endRun, fireDue, takeTurn } from '@countersign/commands';
import { createFileTokens, createPeople } from '@countersign/gateway';
import { createBatchCloser, createDeadlines, createProjectorMetrics, createTurns } from '@countersign/projector';
import { createHistory, createOpenCalls, loadConditions, readOptionalPolicy } from '@countersign/shell';
import type { RuntimePorts } from '@countersign/shell';
import type { RoleConfig } from '../config.js';
import { openTopics } from '../kafka.js';
import { openRecord } from '../record.js';
import { openEventStore } from '../role-process.js';
import type { OpenRole } from '../role-process.js';
import { subscriptionCheck } from '../subscription-check.js';
import { openViews } from '../views.js';
import { watchPolicy } from '../watch-policy.js';
import { openAnsweringWriteSide, openWriteSide } from '../write-side.js';

const votesRemedy = 'set COUNTERSIGN_TOKENS_FILE to the file of the gateways: it says whom a front end may vouch for';

/**
 * Deadlines, the turns of sequential calls, the end of batches that a process left half closed, and of runs that a denial ends. The turns are judged by the policy of this process. Several of them side by side do no harm: what is
 * due is decided by each call's own stream. With the tokens file it knows at a deadline who is still an approver.
 */
export async function readProjector(config: RoleConfig, world: RuntimePorts): Promise<OpenRole> {
  const tokens = config.tokensFile === null ? undefined : createFileTokens(config.tokensFile, world.log);
  const ofTokens = createPeople({ tokens: () => tokens, channels: undefined, issuer: config.issuer });
  // The channels file, which this process does not have, may give groups as well.
  const people = { ...ofTokens, groupsOf: () => null };
  const policy = await readOptionalPolicy(config.policyFile, people);
  return async (process) => {
    const { ids, log, registry, onStop, check } = process;
    const ledgerStore = await openEventStore(process);
    const { store } = ledgerStore;
    const { clock } = store;
    if (tokens !== undefined) onStop(tokens.close);
    else log.warn({ remedy: votesRemedy }, 'votes of people of front ends do not count at a deadline of this process');
    await openRecord(process, ledgerStore.ownRecord, { tokens });
    const readModel = await openViews(process, ledgerStore);
    const judging = { history: createHistory(readModel) };
    const grants = { index: readModel.grants, conditions: loadConditions };
    // Attack: a grant of a person who was removed. Without the tokens this process cannot know.
    const known = tokens === undefined ? judging : { ...judging, grants, people };
    const turning = openAnsweringWriteSide(process, ledgerStore, policy, known);
    const commands = tokens === undefined ? openWriteSide(process, ledgerStore) : turning;
    const metrics = createProjectorMetrics(registry, { readModel, clock });
    // Without both files it knows no approvers, and the policy that the question recorded is all that it needs.
    if (policy !== null || tokens !== undefined)
      void watchPolicy(process, store, turning, policy?.tenant ?? 'default', metrics.policyDiffers);
    const deadlines = createDeadlines({
      readModel,
      fireDue: (...due) => fireDue(commands, ...due),
      clock,
      log,
      onFired: metrics.deadlineFired,
    });
    // Before Kafka is looked for: an approval must expire in time also while the brokers are away.
    deadlines.start();
    onStop(() => deadlines.stop());
    const turns = createTurns({ readModel, takeTurn: (turn) => takeTurn(turning, turn), clock, log });
    turns.start();
    onStop(() => turns.stop());
    const { bus, names } = await openTopics(process, ({ events, deadLetters }) => [events, deadLetters]);
    const ending = {
      commands,
      store,
      openCalls: createOpenCalls({ store, readModel, clock }),
      clock: commands.clock,
      ids,
    };
    const subscription = createBatchCloser({
      bus,
      topic: names.events,
      closeBatch: (...batch) => closeBatch(commands, ...batch),
      endRun: (...denied) => endRun(ending, ...denied),
      endInside: (...cancelled) => endInside(ending, ...cancelled),
    });
    onStop(() => subscription.stop());
    check(subscriptionCheck('batch-closer', () => subscription.status()));
  };
}
