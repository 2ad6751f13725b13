/** The remaining step budget. One step takes well below a microsecond; below zero the evaluation ends. */
export interface Work {
  left: number;
}

/** The step budget for all schemas and arguments of one request. An ordinary tool call takes about 20 to 100. */
export const stepsMax = 500_000;

/** A budget of work. */
export function createWork(steps: number = stepsMax): Work {
  return { left: steps };
}

/** Takes steps from the budget. Returns false when it is used up. */
export function spend(work: Work, steps: number): boolean {
  work.left -= steps;
  return work.left >= 0;
}
