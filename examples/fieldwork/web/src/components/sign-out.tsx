/** Leaving: in this browser, or everywhere. */

import type { Me } from '@freehold/app/wire';
import { type MouseEvent, type ReactNode, useState } from 'react';
import { ApiError, post } from '../lib/api.ts';
import { useAction } from '../lib/use-action.ts';
import { ErrorNote } from './basics.tsx';

/** Where this browser's own session ends. It leads back to the welcome. */
export const SIGN_OUT_HERE = '/api/auth/logout?returnTo=/';

/** At the issuer as well, or the next press of "Sign in" would ask for nothing. */
const SIGN_OUT_AT_ISSUER = '/api/auth/logout?federated';

/** Ends every session of the caller, then this browser's cookies and the issuer's session. @throws ApiError */
export async function signOutEverywhere(me: Me): Promise<void> {
  try {
    await post('/api/sessions/end-all');
  } catch (failure) {
    // A person who was signed out elsewhere a moment ago has lost only the cookies.
    if (!(failure instanceof ApiError) || failure.status !== 401) throw failure;
  }
  location.assign(me.signIn?.mode === 'directory' ? SIGN_OUT_HERE : SIGN_OUT_AT_ISSUER);
}

/** The link that does it. */
export function SignOutEverywhere({
  me,
  className,
  children,
}: {
  me: Me;
  className?: string;
  children: ReactNode;
}) {
  const action = useAction();
  const [leaving, setLeaving] = useState(false);
  const leave = async (event: MouseEvent) => {
    event.preventDefault();
    // The page is on its way out from here: a second press must not begin again.
    if (!leaving) setLeaving(await action.run(() => signOutEverywhere(me)));
  };
  return (
    <>
      <a
        className={className}
        href={SIGN_OUT_AT_ISSUER}
        aria-busy={action.busy || leaving}
        onClick={(event) => void leave(event)}
      >
        {children}
      </a>
      <ErrorNote error={action.error} />
    </>
  );
}
