/** The tool ran, and Countersign has not taken the report in time. */
export class ReportOverdueError extends Error {
  override readonly name = 'ReportOverdueError';
  constructor() {
    super('the tool ran, and Countersign has not recorded its result yet');
  }
}

/** The time that Countersign has to take a report before the client gets the result without it. */
export interface ReportLimit {
  /** Rejects with a `ReportOverdueError`. */
  readonly overdue: Promise<never>;
  readonly release: () => void;
}

/** @param replied resolves when the tool has run. */
export function createReportLimit(replied: Promise<unknown>, limitMs: number): ReportLimit {
  const { promise: overdue, reject } = Promise.withResolvers<never>();
  overdue.catch(() => undefined);
  let timer: NodeJS.Timeout | undefined;
  let isReleased = false;
  void replied.then(() => {
    if (isReleased) return;
    timer = setTimeout(() => {
      reject(new ReportOverdueError());
    }, limitMs);
  });
  return {
    overdue,
    release: () => {
      isReleased = true;
      clearTimeout(timer);
    },
  };
}
