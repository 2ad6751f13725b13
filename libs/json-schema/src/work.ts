/** How many steps may still be taken. One step costs well below a microsecond; below zero the work is given up. */
export interface Work {
  left: number;
}

/** Steps for all schemas and arguments of one request. An ordinary tool call takes some 20 to 100. */
export const stepsMax = 500_000;

/** A budget of work. */
export function createWork(steps: number = stepsMax): Work {
  return { left: steps };
}

/** Takes steps from the budget; false when it is used up. */
export function spend(work: Work, steps: number): boolean {
  work.left -= steps;
  return work.left >= 0;
}
