/** Why a time stamp is refused, in words. It never leaves this package. */
export class Refused extends Error {
  override readonly name = 'Refused';
}

/** @throws Refused unless the condition holds */
export function demand(isSo: boolean, why: string): asserts isSo {
  if (!isSo) throw new Refused(why);
}
