/** The team; for the owner also invites, roles, who came in, and the attempts that were refused. */

import type { DenialEntry, MemberRecord } from '@freehold/app/wire';
import { useEffect, useState } from 'react';
import { useAnnounce } from '../components/announce.tsx';
import {
  Avatar,
  Badge,
  Button,
  Card,
  ErrorNote,
  LoadError,
  PageHead,
  Skeleton,
} from '../components/basics.tsx';
import { Dialog } from '../components/dialog.tsx';
import { SelectField, TextField } from '../components/fields.tsx';
import { type Page, Pages } from '../components/pages.tsx';
import { get, post } from '../lib/api.ts';
import { formatMoment, formatRelative } from '../lib/format.ts';
import { ROLES, roleName } from '../lib/roles.ts';
import { useSession } from '../lib/session.tsx';
import { useAction } from '../lib/use-action.ts';
import { useLoad } from '../lib/use-load.ts';
import { AccessLog } from './access-log.tsx';

/** An invite as the invite routes answer it. */
interface Invite {
  readonly principal: string;
  readonly role: string;
  readonly state: 'pending' | 'accepted' | 'revoked' | 'expired';
  readonly email: string | null;
  readonly name: string | null;
  readonly createdAt: string;
  readonly expiresAt: string;
}

export function TeamPage() {
  const { can, team } = useSession();
  const manages = can('member.manage');
  const [inviting, setInviting] = useState(false);
  const [changes, setChanges] = useState(0);
  const invites = useLoad<Page<Invite>>(manages ? 'invites' : null, (signal) =>
    get('/api/invites?limit=50', { signal }),
  );
  useEffect(() => {
    document.title = 'Team · Fieldwork';
  }, []);
  const changed = (list: { readonly reload: () => void }) => () => {
    list.reload();
    setChanges((before) => before + 1);
  };
  return (
    <div className="page">
      <PageHead title="Team">
        {manages && (
          <Button look="primary" icon="plus" onClick={() => setInviting(true)}>
            Invite a person
          </Button>
        )}
      </PageHead>
      <Card title="Members">
        {team.error && <LoadError error={team.error} retry={team.reload} />}
        {!team.data && !team.error && <Skeleton label="Loading the team" />}
        <ul className="members" aria-label="Members">
          {team.data?.map((member) => (
            <MemberRow
              key={member.principal}
              member={member}
              manages={manages}
              holdsSeat={team.data?.some((each) => each.you && each.owner) === true}
              onChanged={changed(team)}
            />
          ))}
        </ul>
      </Card>
      {manages && (
        <Card title="Invites">
          {invites.error && <LoadError error={invites.error} retry={invites.reload} />}
          {invites.data?.items.length === 0 && (
            <p className="quiet">
              Nobody has been invited yet. An invite is a link that you send to a teammate yourself.
            </p>
          )}
          {invites.data && (
            <Pages
              first={invites.data}
              more={(cursor) =>
                get<Page<Invite>>(`/api/invites?limit=50&cursor=${encodeURIComponent(cursor)}`)
              }
            >
              {(items) => (
                <ul className="members" aria-label="Invites">
                  {items.map((invite) => (
                    <InviteRow key={invite.principal} invite={invite} onChanged={changed(invites)} />
                  ))}
                </ul>
              )}
            </Pages>
          )}
        </Card>
      )}
      {manages && <AccessLog changes={changes} />}
      {can('audit.read') && <Refusals />}
      {inviting && <InviteDialog onClose={() => setInviting(false)} onInvited={changed(invites)} />}
    </div>
  );
}

function MemberRow({
  member,
  manages,
  holdsSeat,
  onChanged,
}: {
  member: MemberRecord;
  manages: boolean;
  /** Whether the reader holds the seat of the owner. */
  holdsSeat: boolean;
  onChanged: () => void;
}) {
  const announce = useAnnounce();
  const action = useAction();
  const [removing, setRemoving] = useState(false);
  const [handing, setHanding] = useState(false);
  const name = member.name ?? member.email ?? 'A teammate';
  const path = `/api/members/${member.principal}`;
  const changeRole = (role: string) =>
    action.run(async () => {
      await post(`${path}/role`, { role });
      onChanged();
      announce(`${name} is now ${roleName(role).toLowerCase()}.`);
    });
  const remove = () =>
    action.run(async () => {
      await post(`${path}/remove`);
      setRemoving(false);
      onChanged();
      announce(`${name} is not on the team any more.`);
    });
  const handOver = () =>
    action.run(async () => {
      await post(`${path}/make-owner`);
      setHanding(false);
      onChanged();
      announce(`${name} holds the seat of the owner now.`);
    });
  const mayChange = manages && !member.owner && !member.you;
  return (
    <li>
      <Avatar principal={member.principal} name={name} />
      <div className="row-main">
        <strong>
          {name}
          {member.you && ' (you)'}
        </strong>
        {member.email && <small>{member.email}</small>}
        {!removing && !handing && <ErrorNote error={action.error} />}
      </div>
      {mayChange ? (
        <>
          <select
            aria-label={`Role of ${name}`}
            value={member.roles[0] ?? ''}
            onChange={(event) => void changeRole(event.target.value)}
          >
            {ROLES.map(([key, words]) => (
              <option key={key} value={key}>
                {words}
              </option>
            ))}
          </select>
          {holdsSeat && (
            <Button
              look="quiet"
              aria-label={`Transfer the ownership to ${name}`}
              onClick={() => setHanding(true)}
            >
              Transfer ownership
            </Button>
          )}
          <Button look="quiet" aria-label={`Remove ${name}`} onClick={() => setRemoving(true)}>
            Remove
          </Button>
        </>
      ) : (
        <Badge>{member.roles.map(roleName).join(', ') || 'No role'}</Badge>
      )}
      {handing && (
        <Dialog
          title={`Transfer the ownership to ${name}?`}
          submit="Transfer ownership"
          danger
          action={action}
          onClose={() => setHanding(false)}
          onSubmit={() => void handOver()}
        >
          <p>
            {name} becomes the owner, whom no teammate can remove. You stay on the team with your role, and
            only {name} can give the ownership back.
          </p>
        </Dialog>
      )}
      {removing && (
        <Dialog
          title={`Remove ${name}?`}
          submit="Remove from the team"
          danger
          action={action}
          onClose={() => setRemoving(false)}
          onSubmit={() => void remove()}
        >
          <p>Whatever they have open stops working at once. What they did stays in the history.</p>
        </Dialog>
      )}
    </li>
  );
}

const INVITE_TONES = { pending: 'warn', accepted: 'good', revoked: 'neutral', expired: 'neutral' } as const;
const INVITE_WORDS = {
  pending: 'Pending',
  accepted: 'Accepted',
  revoked: 'Revoked',
  expired: 'Expired',
} as const;

function InviteRow({ invite, onChanged }: { invite: Invite; onChanged: () => void }) {
  const announce = useAnnounce();
  const action = useAction();
  const { team } = useSession();
  // An accepted invite is a member: its principal was made with it.
  const member = team.data?.find((each) => each.principal === invite.principal);
  const who = member?.name ?? invite.email ?? invite.name ?? 'Anyone with the link';
  const revoke = () =>
    action.run(async () => {
      await post(`/api/invites/${invite.principal}/revoke`);
      onChanged();
      announce(`The invite for ${who} is revoked.`);
    });
  return (
    <li>
      <div className="row-main">
        <strong>{who}</strong>
        <small>
          {roleName(invite.role)}, invited {formatRelative(invite.createdAt)}
          {invite.state === 'pending' && `, good until ${formatMoment(invite.expiresAt)}`}
        </small>
        <ErrorNote error={action.error} />
      </div>
      <Badge tone={INVITE_TONES[invite.state]}>{INVITE_WORDS[invite.state]}</Badge>
      {invite.state === 'pending' && (
        <Button
          look="quiet"
          aria-label={`Revoke the invite for ${who}`}
          busy={action.busy}
          onClick={() => void revoke()}
        >
          Revoke
        </Button>
      )}
    </li>
  );
}

function InviteDialog({ onClose, onInvited }: { onClose: () => void; onInvited: () => void }) {
  const { me } = useSession();
  const announce = useAnnounce();
  const action = useAction();
  const [role, setRole] = useState('technician');
  const [email, setEmail] = useState('');
  const [link, setLink] = useState<string | null>(null);
  const create = () =>
    action.run(async () => {
      const { url } = await post<{ url: string }>('/api/invites', { role, ...(email && { email }) });
      setLink(url);
      onInvited();
    });
  const copy = async () => {
    if (link === null) return;
    try {
      await navigator.clipboard.writeText(link);
      announce('The link is copied.');
    } catch {
      // Without a secure context there is no clipboard: the field is there to copy from by hand.
      const field = document.querySelector<HTMLInputElement>('#invite-link');
      field?.focus();
      field?.select();
    }
  };
  if (link !== null) {
    return (
      <Dialog title="The invite is ready" submit="Copy link" onClose={onClose} onSubmit={() => void copy()}>
        <p>Send this link to your teammate. It is shown only now, works once, and is good for seven days.</p>
        <div className="field">
          <label htmlFor="invite-link">Invite link</label>
          <input
            id="invite-link"
            type="text"
            readOnly
            value={link}
            onFocus={(event) => event.target.select()}
          />
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog
      title={`Invite a person to ${me.business}`}
      submit="Make the link"
      action={action}
      onClose={onClose}
      onSubmit={() => void create()}
    >
      <SelectField
        label="Role"
        name="role"
        error={action.error}
        value={role}
        onChange={(event) => setRole(event.target.value)}
      >
        {ROLES.map(([key, name, words]) => (
          <option key={key} value={key}>
            {name}: {words}
          </option>
        ))}
      </SelectField>
      <TextField
        label="E-mail"
        name="email"
        type="email"
        error={action.error}
        hint="Optional. With it, only a person signed in with this address can accept."
        value={email}
        onChange={(event) => setEmail(event.target.value)}
      />
    </Dialog>
  );
}

function Refusals() {
  const denials = useLoad<Page<DenialEntry>>('denials', (signal) => get('/api/denials?limit=20', { signal }));
  return (
    <Card title="Refused attempts">
      {denials.error && <LoadError error={denials.error} retry={denials.reload} />}
      {denials.data?.items.length === 0 && (
        <p className="quiet">Nobody has tried anything that their role does not allow.</p>
      )}
      {denials.data && denials.data.items.length > 0 && (
        <Pages
          first={denials.data}
          more={(cursor) =>
            get<Page<DenialEntry>>(`/api/denials?limit=20&cursor=${encodeURIComponent(cursor)}`)
          }
        >
          {(items) => (
            <ul className="members" aria-label="Refused attempts">
              {items.map((denial) => (
                <li key={denial.id}>
                  <div className="row-main">
                    <strong>
                      {denial.actor.name ?? 'A former teammate'}
                      {denial.program && `, through ${denial.program.name},`}
                    </strong>
                    <small>wanted to: {denial.wanted.toLowerCase()}</small>
                  </div>
                  <time dateTime={denial.at}>{formatMoment(denial.at)}</time>
                </li>
              ))}
            </ul>
          )}
        </Pages>
      )}
    </Card>
  );
}
