/** Appointments that visitors of the business's own web site ask for, and which sites may show the form. */
import { useEffect, useState } from 'react';
import { useAnnounce } from '../components/announce.tsx';
import { Button, Card, EmptyState, ErrorNote, PageHead } from '../components/basics.tsx';
import { Dialog } from '../components/dialog.tsx';
import { TextArea } from '../components/fields.tsx';
import { LoadedPages } from '../components/pages.tsx';
import { SettingCard, type SettingFormProps } from '../components/setting-card.tsx';
import { type Answer, type AppointmentRequest, call, type WidgetSites } from '../lib/api.ts';
import { formatRelative } from '../lib/format.ts';
import { goTo } from '../lib/router.ts';
import { useSession } from '../lib/session.tsx';
import { useAction } from '../lib/use-action.ts';
import { useLoad } from '../lib/use-load.ts';

const PAGE_SIZE = 50;

export function RequestsPage() {
  const { can } = useSession();
  const requests = useLoad(
    'requests',
    async (signal) => (await call('request/list', { limit: PAGE_SIZE }, { signal })).value,
  );
  useEffect(() => {
    document.title = 'Requests · Fieldwork';
  }, []);
  return (
    <div className="page">
      <PageHead title="Requests" lead="Appointments that visitors of your web site ask for." />
      <div className="order-columns">
        <div className="order-main">
          <LoadedPages
            name="requests"
            loaded={requests}
            more={async (cursor) => (await call('request/list', { limit: PAGE_SIZE, cursor })).value}
            empty={
              <EmptyState icon="mail" title="No one waits">
                <p>Put the form into your web site, and what visitors ask for appears here.</p>
              </EmptyState>
            }
          >
            {(items) =>
              items.map((request) => (
                <RequestCard
                  key={request.id}
                  request={request}
                  maySettle={can('request.settle')}
                  onSettled={requests.reload}
                />
              ))
            }
          </LoadedPages>
        </div>
        {can('widget.read') && (
          <aside className="order-side" aria-label="Your web site">
            <SitesCard mayEdit={can('widget.write')} />
          </aside>
        )}
      </div>
    </div>
  );
}

function RequestCard({
  request,
  maySettle,
  onSettled,
}: {
  request: AppointmentRequest;
  maySettle: boolean;
  onSettled: () => void;
}) {
  const announce = useAnnounce();
  const action = useAction();
  const accept = () =>
    action.run(async (idempotencyKey) => {
      const { value } = await call('request/accept', { request: request.id }, { idempotencyKey });
      announce(`${request.name} is a customer now, with a draft of a work order.`);
      goTo(`/orders/${value.order}`);
    });
  const decline = () =>
    action.run(async (idempotencyKey) => {
      await call('request/decline', { request: request.id }, { idempotencyKey });
      announce(`The request of ${request.name} is declined.`);
      onSettled();
    });
  return (
    <Card
      title={request.name}
      action={
        maySettle && (
          <>
            <Button look="primary" icon="check" busy={action.busy} onClick={() => void accept()}>
              Accept
            </Button>
            <Button icon="cross" busy={action.busy} onClick={() => void decline()}>
              Decline
            </Button>
          </>
        )
      }
    >
      <p className="prose">{request.what}</p>
      <dl className="pairs">
        {request.when && (
          <>
            <dt>When</dt>
            <dd>{request.when}</dd>
          </>
        )}
        {request.phone && (
          <>
            <dt>Phone</dt>
            <dd>
              <a href={`tel:${request.phone}`}>{request.phone}</a>
            </dd>
          </>
        )}
        {request.email && (
          <>
            <dt>E-mail</dt>
            <dd>
              <a href={`mailto:${request.email}`}>{request.email}</a>
            </dd>
          </>
        )}
        <dt>Received</dt>
        <dd>
          <time dateTime={request.receivedAt}>{formatRelative(request.receivedAt)}</time>
        </dd>
      </dl>
      <ErrorNote error={action.error} />
    </Card>
  );
}

function SitesCard({ mayEdit }: { mayEdit: boolean }) {
  const loaded = useLoad<Answer<WidgetSites>>('widget', (signal) => call('widget/get', {}, { signal }));
  return (
    <SettingCard
      title="Your web site"
      edit="Edit sites"
      mayEdit={mayEdit}
      loaded={loaded}
      form={SitesForm}
      note={
        <>
          <p className="quiet">Put this line where the form shall be:</p>
          <pre className="snippet">
            <code>{`<script src="${location.origin}/embed/appointments.js" async></script>`}</code>
          </pre>
        </>
      }
    >
      {({ origins }) =>
        origins.length === 0 ? (
          <p className="quiet">No site may show the form yet.</p>
        ) : (
          <ul className="plain-list">
            {origins.map((origin) => (
              <li key={origin}>{origin}</li>
            ))}
          </ul>
        )
      }
    </SettingCard>
  );
}

function SitesForm({ present, onClose, onDone, onTakeNewest }: SettingFormProps<WidgetSites>) {
  const announce = useAnnounce();
  const action = useAction();
  const [text, setText] = useState(present.value.origins.join('\n'));
  const submit = () =>
    action.run(async (idempotencyKey) => {
      const origins = text.split(/\s+/).filter((line) => line !== '');
      const answer = await call('widget/update', { origins }, { idempotencyKey, ifMatch: present.version });
      announce('The sites are changed.');
      onDone(answer);
    });
  return (
    <Dialog
      title="Edit sites"
      submit="Save"
      action={action}
      onClose={onClose}
      onSubmit={() => void submit()}
      onTakeNewest={onTakeNewest}
    >
      <TextArea
        label="Sites that may show the form"
        hint="One address a line, such as https://shop.example"
        spellCheck={false}
        value={text}
        onChange={(event) => setText(event.target.value)}
      />
    </Dialog>
  );
}
