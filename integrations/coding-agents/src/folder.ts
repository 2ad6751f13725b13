import { jcsDigest } from '@countersign/contracts';
import { isAbsolute } from 'node:path';
import { HookInputError, type AgentCall } from './agent.js';

/** The longest value of a label. */
const labelMax = 512;
const unknownRemedy = 'Check which agent the command names, and begin a new session.';

/**
 * Returns the folder of a call for people and policy. Throws a `HookInputError` for one that the ledger cannot record whole.
 * The attack: a rule blocks calls in a folder, and the agent makes a folder in it whose path is too long to be recorded.
 */
export function folderOf({ cwd }: AgentCall): string {
  if (cwd === undefined) throw new HookInputError('the folder ("cwd") of the call is not known', unknownRemedy);
  const problem = whyUnfit(cwd);
  if (problem === undefined) return cwd;
  throw new HookInputError(`the folder in which the agent works ${problem}`, 'Let the agent work in another folder.');
}

function whyUnfit(cwd: string): string | undefined {
  if (!isAbsolute(cwd)) return 'is not an absolute path';
  if (!cwd.isWellFormed()) return 'has a lone surrogate in its path';
  if (cwd.length > labelMax) return `has a path of more than ${String(labelMax)} characters`;
  return undefined;
}

/**
 * The folder as calls name it in the ledger, in their `batchId`: each call shows that, also without an approval, and the
 * ledger refuses a repeated call with another one.
 */
export function folderIdOf(cwd: string): string {
  return `folder_${jcsDigest(cwd).replace(/^sha256:/, '')}`;
}
