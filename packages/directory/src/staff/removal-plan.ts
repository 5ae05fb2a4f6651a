/** What stops working when somebody is removed from the roster. */

import { planned } from '../lib/handlers.ts';
import { countWorkingTokensOf } from '../tokens/store.ts';
import { requireRemovable, staffRemove } from './operations.ts';
import { staffOfRow } from './store.ts';

export const SESSIONS_OF = 'SELECT count(*) AS n FROM staff_sessions WHERE member = ? AND expires_at > ?';
export const PROGRAMS_OF = 'SELECT count(*) AS n FROM staff_tokens WHERE member = ? AND expires_at > ?';

export const planRemoval = /* @__PURE__ */ planned<typeof staffRemove>(staffRemove, (context, call) => {
  const { db } = context;
  const member = requireRemovable(context, call);
  const nowMs = context.now();
  const count = (sql: string): number => db.get<{ n: number }>(sql, member.id, nowMs)?.n ?? 0;
  return {
    dryRun: true,
    member: staffOfRow(member),
    serviceTokens: countWorkingTokensOf(db, { owner: member.id, nowMs }),
    programs: count(PROGRAMS_OF),
    sessions: count(SESSIONS_OF),
  };
});
