/** How long tokens work. */

/** How long a token works unless its maker says otherwise, in days. */
export const PUSH_TOKEN_DAYS_DEFAULT = 90;
/** No token works for longer than this, in days. */
export const TOKEN_DAYS_MAX = 365;
