/** A content or an event that does not belong to the approval, or is no answer. Nothing was sent to the ledger. */
export class MappingError extends Error {
  override readonly name: string = 'MappingError';
}

/** Another question is asked since: show the current one. Nothing was recorded. */
export class StaleResponseError extends MappingError {
  override readonly name = 'StaleResponseError';
}

/** Another person sent it, or the question was made for another person. Nothing was sent to the ledger. */
export class OtherPersonError extends MappingError {
  override readonly name = 'OtherPersonError';
}

/** A "yes" that was given in another sign-in of the person. Nothing was sent to the ledger. */
export class OtherSignInError extends MappingError {
  override readonly name = 'OtherSignInError';
}
