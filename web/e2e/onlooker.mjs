// Eyes on live tables, for benchmarks/tables.py: commands come as lines of JSON on stdin, events leave as lines on stdout.
//   {"do": "watch", url, key, ticket, interval, from}   every row; notes when each probe (a value from `from` on) is seen
//   {"do": "glance", url, key, ticket, interval}         40 rows; says `generation` whenever another one is shown
//   {"do": "seen", to}                                   writes what `watch` has noted: number → seconds
import { writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

import { chromium } from 'playwright-core';

const say = (event, what = {}) => console.log(JSON.stringify({ event, ...what }));

/** Runs in a page: what the others there share. */
function install() {
  const PSK = 'io.deephaven.authentication.psk.PskAuthenticationHandler';
  const held = [];
  window.now = () => (performance.timeOrigin + performance.now()) / 1000;
  window.open_ = async ({ url, key, ticket }) => {
    const dh = (await import(`${url}/jsapi/dh-core.js`)).default;
    const client = new dh.CoreClient(url);
    await client.login(key ? { type: PSK, token: key } : { type: dh.CoreClient.LOGIN_TYPE_ANONYMOUS });
    const table = await (await client.getAsIdeConnection()).getObject({ type: 'Table', id: btoa(ticket) });
    held.push(client, table);
    return table;
  };
  window.grid = (table, columns, updateIntervalMs, onUpdate) => {
    const subscription = table.createViewportSubscription({ rows: { first: 0, last: 39 }, columns, updateIntervalMs });
    subscription.addEventListener('updated', ({ detail }) => onUpdate(detail));
    held.push(subscription);
  };
}

/** Runs in a page. */
async function watch(where) {
  const table = await window.open_(where);
  const columns = table.findColumns(['age', 'balance']);
  const seen = (window.seen = {});
  const subscription = table.createSubscription({ columns, updateIntervalMs: where.interval });
  window.subscription = subscription;
  subscription.addEventListener('updated', ({ detail }) => {
    const at = window.now();
    for (const rows of [detail.added, detail.modified]) {
      for (const each = rows.iterator(); each.hasNext(); ) {
        const row = detail.get(each.next().value);
        for (const column of columns) {
          const value = row.get(column);
          const number = (typeof value === 'number' ? value : (value?.asNumber() ?? 0)) - where.from;
          if (number >= 0) {
            seen[number] ??= at;
          }
        }
      }
    }
  });
}

/** Runs in a page. */
async function glance(where) {
  const table = await window.open_(where);
  const generation = table.findColumn('generation');
  let shown = null;
  window.grid(table, [generation], where.interval, (detail) => {
    const at = window.now();
    const number = detail.rows[0]?.get(generation).asNumber();
    if (number !== undefined && number !== shown) {
      shown = number;
      window.say('generation', { number, at });
    }
  });
}

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
  args: ['--no-sandbox'],
});

async function pageAt(url) {
  const page = await browser.newPage();
  await page.exposeFunction('say', say);
  await page.goto(`${url}/no-such-page`); // any page of that server will do
  await page.evaluate(install);
  return page;
}

let watching = null;
const commands = {
  async watch(where) {
    watching = await pageAt(where.url);
    await watching.evaluate(watch, where);
    say('watching');
  },
  async glance(where) {
    await (await pageAt(where.url)).evaluate(glance, where);
    say('glancing');
  },
  async seen({ to }) {
    writeFileSync(to, JSON.stringify(await watching.evaluate(() => window.seen)));
    say('written');
  },
};

say('open');
for await (const line of createInterface({ input: process.stdin })) {
  const command = JSON.parse(line);
  try {
    await commands[command.do](command);
  } catch (error) {
    say('failed', { error: String(error) });
  }
}
await browser.close();
