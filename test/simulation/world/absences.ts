/** A person is away for a time, and another responds in their place. */
export interface Absence {
  readonly who: string;
  readonly delegate: string;
  readonly from: string;
  readonly until: string;
}

/** The absences of every world, which begins with the year 2030. */
export const absences: readonly Absence[] = [
  { who: 'dora', delegate: 'alice', from: '2030-01-01T00:00:10.000Z', until: '2030-01-01T00:01:00.000Z' },
  { who: 'carla', delegate: 'bob', from: '2030-01-01T00:00:00.000Z', until: '2030-01-01T00:00:40.000Z' },
];
