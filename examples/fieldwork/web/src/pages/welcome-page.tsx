/** The page of a person who is not a member: signed out, without an invite, or with an invite or claim link. */

import type { Me } from '@freehold/app/wire';
import { type ReactNode, useEffect } from 'react';
import type { RoleKey } from '../../../src/lib/manifest.ts';
import { Button, ErrorNote, Skeleton } from '../components/basics.tsx';
import { Mark } from '../components/icon.tsx';
import { Link } from '../components/link.tsx';
import { SIGN_OUT_HERE, SignOutEverywhere } from '../components/sign-out.tsx';
import { get, post } from '../lib/api.ts';
import { formatMoment } from '../lib/format.ts';
import { goTo, useAddress, withQuery } from '../lib/router.ts';
import { forgetLink, keepLink, type SignInLink } from '../lib/sign-in-link.ts';
import { useAction } from '../lib/use-action.ts';
import { useLoad } from '../lib/use-load.ts';

/** Asks for the account to use, even where the issuer knows one already. */
const SWITCH_ACCOUNT = '/api/auth/login?switch&returnTo=%2F';
/** The role of the holder of the owner seat. */
const OWNER_ROLE: RoleKey = 'owner';

const ROLE_NAMES: Readonly<Record<string, string>> = {
  owner: 'an owner',
  dispatcher: 'a dispatcher',
  technician: 'a technician',
};

interface WelcomeProps {
  readonly me: Me;
  readonly link: SignInLink | null;
  /** Loads who is here again. */
  readonly onEntered: () => void;
}

export function WelcomePage({ me, link, onEntered }: WelcomeProps) {
  useEffect(() => {
    document.title = `${me.business} · Fieldwork`;
  }, [me.business]);
  return (
    <main className="welcome" id="main">
      <div className="welcome-card">
        <p className="welcome-brand">
          <Mark /> <span>{me.business}</span>
        </p>
        {link?.kind === 'invite' ? (
          <InvitePage me={me} link={link} onEntered={onEntered} />
        ) : link?.kind === 'claim' ? (
          <ClaimPage me={me} link={link} onEntered={onEntered} />
        ) : me.status === 'stranger' ? (
          <AnonymousDoor me={me} />
        ) : (
          <>
            <h1>Good to see you</h1>
            <SignInFailure />
            {!isForPrograms(me) && <p>Sign in to see your work orders.</p>}
            <SignIn me={me} />
          </>
        )}
      </div>
      <p className="welcome-foot">Fieldwork: orders from the first call to the invoice.</p>
    </main>
  );
}

/** Whether people here sign in without a browser: then no link may suggest one. */
function isForPrograms(me: Me): boolean {
  return me.signIn?.mode === 'tokens';
}

function SignIn({ me, words = 'Sign in' }: { me: Me; words?: string }) {
  if (isForPrograms(me))
    return <p>Programs come here with access tokens. There is nowhere to sign in with a browser.</p>;
  // A failure that was told once is not told again after the next attempt.
  const here = withQuery({ error: '' });
  return (
    <a
      className="button button-primary button-wide"
      href={`/api/auth/login?returnTo=${encodeURIComponent(here)}`}
    >
      <span>{words}</span>
    </a>
  );
}

/** Instructions for the holder of a link where there is no page to sign in. */
function ByProgram({ does, path }: { does: string; path: string }) {
  return (
    <p>
      To {does}, have a program send the token of this link to <code>POST {path}</code>, with an access token
      of yours.
    </p>
  );
}

/** Failures at the issuer, by the code that comes back. */
const SIGN_IN_FAILURES: Readonly<Record<string, string>> = {
  access_denied: 'You did not finish signing in. Try again whenever you like.',
  flow_expired: 'Signing in took too long. Try again.',
  state_mismatch: 'This sign-in was begun in another window. Try again here.',
  issuer_unavailable: 'The sign-in service cannot be reached right now. Try again in a moment.',
};

function SignInFailure() {
  const code = useAddress().query.get('error');
  if (code === null) return null;
  return (
    <div role="alert" className="error-note">
      <p>
        {SIGN_IN_FAILURES[code] ??
          'Signing in did not work. Try again, and tell the operator if it happens twice.'}
      </p>
    </div>
  );
}

function SignedInAs({ me }: { me: Me }) {
  return (
    <p className="signed-in-as">
      You are signed in as{' '}
      <strong>{me.subject?.name ?? me.subject?.email ?? 'a person without a name'}</strong>
      {me.subject?.name && me.subject.email && <> ({me.subject.email})</>}.
    </p>
  );
}

/** Leaves at the issuer too, or it would sign the same person in again without asking; the link is kept meanwhile. */
function AnotherAccount({ link }: { link: SignInLink }) {
  return (
    <a
      className="button button-quiet button-wide"
      href="/api/auth/logout?federated"
      onClick={() => keepLink(link)}
    >
      <span>Use another account</span>
    </a>
  );
}

function Ignore({ look = 'quiet', children }: { look?: 'primary' | 'quiet'; children: ReactNode }) {
  const ignore = () => {
    forgetLink();
    goTo('/', 'replace');
  };
  return (
    <Button look={look} className="button-wide" onClick={ignore}>
      {children}
    </Button>
  );
}

interface InvitePreview {
  readonly role: string;
  readonly state: 'pending' | 'accepted' | 'revoked' | 'expired';
  readonly email: string | null;
  readonly name: string | null;
  readonly invitedBy: string | null;
  readonly expiresAt: string;
}

const SPENT: Readonly<Record<Exclude<InvitePreview['state'], 'pending'>, string>> = {
  accepted: 'This invite was accepted already. If that was you, sign in with the account you used then.',
  revoked: 'This invite was taken back. Ask for a new one.',
  expired: 'This invite has expired. Ask for a new one.',
};

function InvitePage({ me, link, onEntered }: WelcomeProps & { link: SignInLink }) {
  const action = useAction();
  const preview = useLoad<InvitePreview>(`invite ${link.token}`, (signal) =>
    get(`/api/invites?token=${encodeURIComponent(link.token)}`, { signal }),
  );
  const accept = () =>
    action.run(async () => {
      await post('/api/accept-invite', { token: link.token });
      forgetLink();
      goTo('/', 'replace');
      onEntered();
    });
  if (preview.error) {
    return (
      <>
        <h1>This link does not work</h1>
        <ErrorNote error={preview.error} />
        {me.status === 'signed_out' ? <SignIn me={me} /> : <Ignore>Continue without it</Ignore>}
      </>
    );
  }
  const invite = preview.data;
  if (!invite) return <Skeleton label="Loading the invite" />;
  if (invite.state !== 'pending') {
    return (
      <>
        <h1>This invite is closed</h1>
        <p>{SPENT[invite.state]}</p>
        {me.status === 'signed_out' ? <SignIn me={me} /> : <Ignore>Continue without it</Ignore>}
      </>
    );
  }
  return (
    <>
      <h1>You are invited</h1>
      <p>
        {invite.invitedBy ?? 'The owner'} invites you to join <strong>{me.business}</strong> as{' '}
        <strong>{ROLE_NAMES[invite.role] ?? invite.role}</strong>.
      </p>
      {invite.email && (
        <p className="quiet">
          The invite is for <strong>{invite.email}</strong>.
        </p>
      )}
      <p className="quiet">It is good until {formatMoment(invite.expiresAt)}.</p>
      {me.status === 'signed_out' && <SignIn me={me} words="Sign in to accept" />}
      {isForPrograms(me) && <ByProgram does="accept the invite" path="/api/accept-invite" />}
      {me.status === 'member' && (
        <>
          <SignedInAs me={me} />
          <p>You are a member here already, so there is nothing to accept.</p>
          <Ignore>Go to the orders</Ignore>
          <AnotherAccount link={link} />
        </>
      )}
      {me.status === 'stranger' && (
        <>
          <SignedInAs me={me} />
          <ErrorNote error={action.error} />
          <Button look="primary" className="button-wide" busy={action.busy} onClick={() => void accept()}>
            Accept
          </Button>
          <AnotherAccount link={link} />
        </>
      )}
    </>
  );
}

function ClaimPage({ me, link, onEntered }: WelcomeProps & { link: SignInLink }) {
  const action = useAction();
  const claim = () =>
    action.run(async () => {
      await post('/api/claim', { token: link.token });
      forgetLink();
      goTo('/', 'replace');
      onEntered();
    });
  // While the seat waits for its first sign-in, coming here signed in has claimed it before any button is pressed.
  if (me.roles.some((role) => role.key === OWNER_ROLE)) {
    return (
      <>
        <h1>You are the owner</h1>
        <SignedInAs me={me} />
        <p>There is nothing left to claim, and no other person can do so with this link.</p>
        <Ignore look="primary">Go to the orders</Ignore>
      </>
    );
  }
  return (
    <>
      <h1>Claim {me.business}</h1>
      <p>With this link you become its owner: you can invite your team and decide who may do what.</p>
      {me.status === 'signed_out' && <SignIn me={me} words="Sign in to claim" />}
      {isForPrograms(me) && <ByProgram does="become the owner" path="/api/claim" />}
      {me.status === 'member' && (
        <>
          <SignedInAs me={me} />
          <p>You are a member here already. To become the owner, use another account.</p>
          <Ignore>Go to the orders</Ignore>
          <AnotherAccount link={link} />
        </>
      )}
      {me.status === 'stranger' && (
        <>
          <SignedInAs me={me} />
          <ErrorNote error={action.error} />
          <Button look="primary" className="button-wide" busy={action.busy} onClick={() => void claim()}>
            Become the owner
          </Button>
          <AnotherAccount link={link} />
        </>
      )}
    </>
  );
}

const SEAT_WORDS: Readonly<Record<string, string>> = {
  never_opened:
    'This business has no owner yet, and it is not set up to be claimed. Ask the operator of the platform.',
  window_open: 'This business has no owner yet. Load the page again to claim it.',
  window_closed:
    'This business has no owner yet, and the time to claim it by signing in is over. Ask the operator for a claim link.',
  claim_outstanding:
    'This business has no owner yet. A claim link was made: open that link to become the owner.',
};

function AnonymousDoor({ me }: { me: Me }) {
  const why = me.seat?.reason
    ? SEAT_WORDS[me.seat.reason]
    : 'Ask the owner for an invite link, and open it here.';
  return (
    <>
      <h1>You are not a member here</h1>
      <p className="signed-in-as">
        You are signed in as{' '}
        <strong>{me.subject?.name ?? me.subject?.email ?? 'a person without a name'}</strong>
        {me.subject?.name && me.subject.email && <> ({me.subject.email})</>}, but are not a member of{' '}
        <strong>{me.business}</strong>.
      </p>
      <p>{why}</p>
      {!isForPrograms(me) && (
        <a className="button button-primary button-wide" href={SWITCH_ACCOUNT}>
          <span>Use another account</span>
        </a>
      )}
      <a className="button button-plain button-wide" href={SIGN_OUT_HERE}>
        <span>Sign out</span>
      </a>
      <SignOutEverywhere me={me} className="button button-quiet button-wide">
        <span>Sign out everywhere</span>
      </SignOutEverywhere>
      <Link className="button button-quiet button-wide" href="/account">
        <span>Your account</span>
      </Link>
    </>
  );
}
