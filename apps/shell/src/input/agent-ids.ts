import { globProblem } from '@countersign/contracts';
import { z } from 'zod';

/**
 * The `agentIds` of a token or a key: globs of the agents that its principal may request for, in addition to itself.
 * Default: none. `["*"]` allows every agent.
 */
export const agentIdsSchema = z
  .array(
    z.string().superRefine((glob, context) => {
      const problem = globProblem(glob);
      if (problem === undefined) return;
      context.addIssue({
        code: 'custom',
        message: `${problem}; write the name of an agent, or a pattern with * and ?`,
      });
    }),
  )
  .max(1000)
  .default([]);
