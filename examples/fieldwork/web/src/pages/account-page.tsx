/** Your account: who you are here, how you sign in, and where you are signed in. For members and strangers alike. */

import type { Me, SessionRecord } from '@freehold/app/wire';
import { type ReactNode, useEffect, useState } from 'react';
import { useAnnounce } from '../components/announce.tsx';
import { Badge, Button, Card, LoadError, PageHead, Skeleton } from '../components/basics.tsx';
import { Dialog } from '../components/dialog.tsx';
import { Icon } from '../components/icon.tsx';
import { Link } from '../components/link.tsx';
import { SIGN_OUT_HERE, signOutEverywhere } from '../components/sign-out.tsx';
import { get, post } from '../lib/api.ts';
import { formatMoment } from '../lib/format.ts';
import { useSession } from '../lib/session.tsx';
import { useAction } from '../lib/use-action.ts';
import { useLoad } from '../lib/use-load.ts';

export function AccountPage() {
  const { me } = useSession();
  useEffect(() => {
    document.title = 'Your account · Fieldwork';
  }, []);
  return (
    <div className="page">
      <PageHead title="Your account">
        {me.status !== 'member' && (
          <Link className="button button-plain" href="/">
            <span>Back to {me.business}</span>
          </Link>
        )}
      </PageHead>
      <WhoYouAre me={me} />
      <HowYouSignIn me={me} />
      <Programs me={me} />
      <Sessions me={me} />
    </div>
  );
}

function WhoYouAre({ me }: { me: Me }) {
  const verified = me.subject?.emailVerified;
  return (
    <Card title="Who you are">
      <dl className="details">
        <Detail term="Name">{me.subject?.name ?? 'Not known'}</Detail>
        <Detail term="E-mail">
          {me.subject?.email ?? 'Not known'}
          {me.subject?.email && verified === false && <Badge tone="warn">Not verified</Badge>}
        </Detail>
        <Detail term={`At ${me.business}`}>
          {me.status === 'member'
            ? me.roles.map((role) => role.name).join(', ') || 'No role'
            : 'You are not a member'}
        </Detail>
      </dl>
    </Card>
  );
}

function Detail({ term, children }: { term: string; children: ReactNode }) {
  return (
    <div>
      <dt>{term}</dt>
      <dd>{children}</dd>
    </div>
  );
}

const SIGN_IN_WORDS = {
  hosted:
    'You sign in with a sign-in service. Your name, address and password are kept there, and are changed there.',
  directory: 'You sign in with an account that is kept here, by a password, a passkey, or both.',
  tokens: 'Access tokens of one sign-in service are accepted here.',
} as const satisfies Record<NonNullable<Me['signIn']>['mode'], string>;

function HowYouSignIn({ me }: { me: Me }) {
  if (!me.signIn) return null;
  const { mode, securityUrl } = me.signIn;
  return (
    <Card title="How you sign in">
      <p>{SIGN_IN_WORDS[mode]}</p>
      {mode === 'directory' && securityUrl && (
        <p className="card-foot">
          <a className="button button-plain" href={securityUrl}>
            <Icon name="key" /> <span>Password, passkeys and second step</span>
          </a>
        </p>
      )}
    </Card>
  );
}

/** The programs of a member are on a page of the platform's. */
function Programs({ me }: { me: Me }) {
  if (me.status !== 'member' || !me.signIn || me.signIn.mode === 'tokens') return null;
  return (
    <Card title="Connected programs">
      <p>
        An agent gets in with the address <code>{`${location.origin}/api/mcp`}</code>. You decide what it may
        do, and end it at any time.
      </p>
      <p className="card-foot">
        <a className="button button-plain" href="/oauth/programs">
          <Icon name="key" /> <span>Programs and tokens</span>
        </a>
      </p>
    </Card>
  );
}

interface Sessions {
  readonly items: readonly SessionRecord[];
}

/** The action to confirm. */
type Question =
  | { readonly end: 'others' | 'everything' }
  | { readonly end: 'one'; readonly session: SessionRecord };

function Sessions({ me }: { me: Me }) {
  const [question, setQuestion] = useState<Question | null>(null);
  const sessions = useLoad<Sessions>('sessions', (signal) => get('/api/sessions', { signal }));
  const items = sessions.data?.items.toSorted((a, b) => Number(b.current) - Number(a.current));
  const hasOthers = items?.some((each) => !each.current) ?? false;
  const close = () => setQuestion(null);
  return (
    <Card title="Where you are signed in">
      {sessions.error && <LoadError error={sessions.error} retry={sessions.reload} />}
      {!sessions.data && !sessions.error && <Skeleton label="Loading where you are signed in" />}
      {items && !items.some((each) => each.current) && (
        <p className="quiet">
          {items.length === 0
            ? 'No browser is on this list. One gets there by signing in.'
            : 'This browser is not on the list: it was signed in before there was one.'}
        </p>
      )}
      {items && items.length > 0 && (
        <ul className="members" aria-label="Where you are signed in">
          {items.map((session) => (
            <SessionRow
              key={session.id}
              session={session}
              onEnd={() => setQuestion({ end: 'one', session })}
            />
          ))}
        </ul>
      )}
      {items && (
        <div className="card-foot">
          {hasOthers && <Button onClick={() => setQuestion({ end: 'others' })}>Sign out all others</Button>}
          <Button onClick={() => setQuestion({ end: 'everything' })}>Sign out everywhere</Button>
        </div>
      )}
      {question?.end === 'one' && (
        <EndOne session={question.session} onClose={close} onEnded={sessions.reload} />
      )}
      {question?.end === 'others' && <EndOthers onClose={close} onEnded={sessions.reload} />}
      {question?.end === 'everything' && <EndEverything me={me} onClose={close} />}
    </Card>
  );
}

function SessionRow({ session, onEnd }: { session: SessionRecord; onEnd: () => void }) {
  const { current, here, startedAt, expiresAt } = session;
  const name = nameOf(session);
  return (
    <li>
      <span className="session-icon">
        <Icon name="screen" />
      </span>
      <div className="row-main">
        <strong>{name}</strong>
        <small>
          Signed in <time dateTime={startedAt}>{inSentence(startedAt)}</time>, for no longer than{' '}
          <time dateTime={expiresAt}>{inSentence(expiresAt)}</time>
        </small>
      </div>
      {current && <Badge tone="good">This browser</Badge>}
      {!here && <Badge>Another application</Badge>}
      {current ? (
        <a className="button button-quiet" href={SIGN_OUT_HERE}>
          <span>Sign out here</span>
        </a>
      ) : (
        <Button
          look="quiet"
          aria-label={`Sign out ${name}, signed in ${inSentence(startedAt)}`}
          onClick={onEnd}
        >
          Sign out
        </Button>
      )}
    </li>
  );
}

interface EndProps {
  readonly onClose: () => void;
  readonly onEnded: () => void;
}

function EndOne({ session, onClose, onEnded }: EndProps & { session: SessionRecord }) {
  const announce = useAnnounce();
  const action = useAction();
  const name = nameOf(session);
  const end = () =>
    action.run(async () => {
      await post(`/api/sessions/${encodeURIComponent(session.id)}/end`);
      onClose();
      onEnded();
      announce(`${name} is signed out.`);
    });
  return (
    <Dialog
      title={`Sign out ${name}?`}
      submit="Sign it out"
      danger
      action={action}
      onClose={onClose}
      onSubmit={() => void end()}
    >
      <p>
        It was signed in {inSentence(session.startedAt)}. Whatever it has open stops working at once; what is
        half written there is lost.
      </p>
    </Dialog>
  );
}

function EndOthers({ onClose, onEnded }: EndProps) {
  const announce = useAnnounce();
  const action = useAction();
  const end = () =>
    action.run(async () => {
      const { ended } = await post<{ ended: number }>('/api/sessions/end-others');
      onClose();
      onEnded();
      announce(ended === 1 ? 'The other browser is signed out.' : `${ended} other browsers are signed out.`);
    });
  return (
    <Dialog
      title="Sign out all others?"
      submit="Sign out all others"
      danger
      action={action}
      onClose={onClose}
      onSubmit={() => void end()}
    >
      <p>Only this browser stays signed in. Whatever the others have open stops working at once.</p>
    </Dialog>
  );
}

function EndEverything({ me, onClose }: { me: Me; onClose: () => void }) {
  const action = useAction();
  const [leaving, setLeaving] = useState(false);
  const end = async () => {
    if (!leaving) setLeaving(await action.run(() => signOutEverywhere(me)));
  };
  return (
    <Dialog
      title="Sign out everywhere?"
      submit="Sign out everywhere"
      danger
      action={{ ...action, busy: action.busy || leaving }}
      onClose={onClose}
      onSubmit={() => void end()}
    >
      <p>Every browser is signed out at once, this one too. You can sign in again whenever you like.</p>
    </Dialog>
  );
}

function nameOf({ client }: SessionRecord): string {
  return client ?? 'A browser';
}

/** "today, 10:12" */
function inSentence(at: string): string {
  return formatMoment(at).replace(/^(?:Today|Tomorrow|Yesterday)/, (word) => word.toLowerCase());
}
