import type { LedgerAddress } from './ledger.js';
import { crashes } from './scenarios/crashes.js';
import { decisions } from './scenarios/decisions.js';
import { duplicates } from './scenarios/duplicates.js';
import { endings } from './scenarios/endings.js';
import { reorderings } from './scenarios/reorderings.js';
import type { Scenario } from './scenarios/scenario.js';
import { openSession, type AgentUnderTest } from './session.js';

/** All scenarios, in the order in which they are run. */
export const scenarios: readonly Scenario[] = [...decisions, ...endings, ...crashes, ...duplicates, ...reorderings];

/** The scenarios that the agent can be tried in. */
export function scenariosFor({ capabilities }: AgentUnderTest): readonly Scenario[] {
  return scenarios.filter(({ needs }) => needs === undefined || capabilities[needs]);
}

/** Tries the agent in one scenario. Rejects with what is wrong. */
export async function tryScenario(scenario: Scenario, agent: AgentUnderTest, ledger: LedgerAddress): Promise<void> {
  const session = await openSession(agent, ledger, scenario.script);
  try {
    await scenario.run(session);
  } finally {
    await session.release();
  }
}
