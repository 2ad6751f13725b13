/** A request as a controller receives it: authenticated, with a body that every JSON parser reads in the same way. */
export const httpContextToken = Symbol('HttpContext');
