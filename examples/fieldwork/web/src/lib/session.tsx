/** The caller: the answer of `/api/me` and the team, for every part of the page. */

import type { Me, MemberRecord } from '@freehold/app/wire';
import { createContext, type ReactNode, useCallback, useContext, useEffect, useMemo, useRef } from 'react';
import type { PermissionKey } from '../../../src/lib/manifest.ts';
import { get, whenSignedOut } from './api.ts';
import { useAddress } from './router.ts';
import { forgetAll, type Loaded, useLoad } from './use-load.ts';

interface Session {
  readonly me: Me;
  readonly reload: () => void;
  /** Whether a permission holds for all of the business. */
  readonly can: (permission: PermissionKey) => boolean;
  readonly team: Loaded<readonly MemberRecord[]>;
  /** A principal's name, as one teammate calls another. */
  readonly nameOf: (principal: string) => string;
}

/** The actor of automatic work. */
const APPLICATION = 'Fieldwork';

const SessionContext = createContext<Session | null>(null);

/** Loads who is here. Until that is known, and when it cannot be known, `children` say what to show. */
export function useMe(): Loaded<Me> {
  const me = useLoad<Me>('me', (signal) => get('/api/me', { signal }));
  const { reload } = me;
  useEffect(() => {
    whenSignedOut(() => {
      forgetAll();
      reload();
    });
    return () => whenSignedOut(() => undefined);
  }, [reload]);
  return me;
}

export function SessionProvider({
  me,
  reload,
  children,
}: {
  me: Me;
  reload: () => void;
  children: ReactNode;
}) {
  const team = useLoad<readonly MemberRecord[]>(
    me.status === 'member' ? `team ${me.principal}` : null,
    loadTeam,
  );
  // The team changes meanwhile: each page is shown with the present names.
  const { path } = useAddress();
  const shownPath = useRef(path);
  const reloadTeam = team.reload;
  useEffect(() => {
    if (shownPath.current === path) return;
    shownPath.current = path;
    reloadTeam();
  }, [path, reloadTeam]);
  const can = useCallback((permission: PermissionKey) => me.permissions.includes(permission), [me]);
  const nameOf = useCallback(
    (principal: string) => {
      if (principal === me.principal) return 'You';
      if (principal.startsWith('service:')) return APPLICATION;
      const member = team.data?.find((each) => each.principal === principal);
      if (member) return member.name ?? member.email ?? 'A teammate';
      return team.data ? 'A former teammate' : '…';
    },
    [me, team.data],
  );
  const session = useMemo(() => ({ me, reload, can, team, nameOf }), [me, reload, can, team, nameOf]);
  return <SessionContext value={session}>{children}</SessionContext>;
}

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (!session) throw new Error('useSession needs a SessionProvider above it');
  return session;
}

async function loadTeam(signal: AbortSignal): Promise<readonly MemberRecord[]> {
  const members: MemberRecord[] = [];
  let cursor: string | null = null;
  do {
    const query: string = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
    const page: { items: MemberRecord[]; nextCursor: string | null } = await get(
      `/api/members?limit=200${query}`,
      {
        signal,
      },
    );
    members.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return members;
}
