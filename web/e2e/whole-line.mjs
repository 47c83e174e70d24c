// One page, open from the first row to the last, on the real system: broker, Spark, Deephaven and web server.
// Thirty switches: two from the form, two more that are built, and twenty-six roll backs, which are switches too.
import { expect, Grid, openBrowser, openPage, please, textOf, until } from './stage.mjs';

const { WEB_URL, VIEWER_KEY, OPERATOR_KEY } = process.env;
const BUILD_SECONDS = 90;

const browser = await openBrowser();
const { page, errors } = await openPage(browser, `${WEB_URL}/#key=${encodeURIComponent(VIEWER_KEY)}`);
const grid = new Grid(page);
/** Users and strangers: those with an account, and all; how many switches were seen. */
const people = { joined: 905, all: 1005, filtered: 1000, filteredJoined: 900 };
let switches = 0;

try {
  await page.evaluate(() => (window.neverReloaded = true));
  await firstRows();
  await viewerCannotSend();
  await orderTheRows();
  await refusedInTheForm();
  await switchFromTheForm();
  await rollBackFromTheForm();
  await manySwitches();
  await healing();
  expect(await page.evaluate(() => window.neverReloaded), 'the page was never reloaded');
  expect(errors.length === 0, `no error in the console: ${errors.join(' | ')}`);
} catch (error) {
  console.error(`errors in the console: ${errors.join(' | ')}`);
  console.error(`the page: ${await textOf(page, 'pm-banner, .live, .count, .over')} ${JSON.stringify(await status())}`);
  throw error;
} finally {
  await browser.close();
}
console.log(JSON.stringify({ wish: 'done' }));
process.exit(0);

async function firstRows() {
  await until('the first rows come from the real pipeline', () => grid.column('userId'), (ids) => ids.length > 10, BUILD_SECONDS);
  await until('all rows are counted', () => grid.count(), (text) => text === '1,005 rows');
  await until('the page says that it is live', () => page.$('.live.on'));
  await until('generation 1 serves', status, ({ generation, state }) => generation === '1' && state === 'SERVING');
}

async function viewerCannotSend() {
  await page.keyboard.press('p');
  await until('the panel opens', () => page.$('pm-points-panel [role=combobox]'));
  expect(await page.isDisabled('#topic-users'), 'a viewer cannot edit the points');
  expect((await page.$('button.primary')) === null, 'a viewer has nothing to send with');
  const post = async (headers) => (await page.request.post(`${WEB_URL}/api/control`, { data: { joinType: 'inner' }, headers })).status();
  expect((await post({})) === 401, 'without a key, the server turns away what is sent past the form');
  expect((await post({ Authorization: 'Bearer guessed' })) === 401, 'and with a guessed one');
  expect((await textOf(page, 'pm-verdicts')).includes('No control message yet'), 'nothing was sent');
}

async function orderTheRows() {
  await page.click('.search input');
  await page.keyboard.type('u00', { delay: 30 });
  await until('the typed filter narrows', () => grid.count(), (text) => text === '100 of 1,005 rows');
  await grid.search('');
  await until('all rows are back', () => grid.count(), (text) => text === '1,005 rows');
  await grid.sort('balance');
  await grid.sort('balance');
  await until('the highest balance is on top', () => grid.column('balance'), ([first]) => first === '899.5');
  await grid.sort('userId');
  await until('rows stand by user', () => grid.column('userId'), ([first]) => first === 'u0000');
  await grid.search('example.org');
  await until('the filter leaves strangers out', () => grid.count(), (text) => text === rows('filtered', 'all'));
}

async function refusedInTheForm() {
  await page.fill('#operator-key', OPERATOR_KEY);
  await page.click('text=Unlock');
  await page.fill('#topic-users', 'users.curatd');
  await page.keyboard.press('Escape');
  await page.click('text=See the plan');
  await until('a refused topic is explained in the form', () => textOf(page, 'pm-points-panel .card.refusal'), (text) =>
    text.includes("'users.curatd' does not exist") && text.includes("did you mean 'users.curated'"));
  expect(await page.isDisabled('button.primary'), 'what would be refused cannot be sent');
  await page.click('text=Undo');
  await until('undo brings back the topic that is live', () => page.inputValue('#topic-users'), (text) => text === 'users');
}

async function switchFromTheForm() {
  for (const source of ['users', 'accounts']) {
    await page.fill(`#topic-${source}`, 'curated');
    await page.click(`#topic-${source}-list li:has-text("${source}.curated")`);
  }
  await page.click('text=See the plan');
  await until('the plan lists its steps', () => textOf(page, 'pm-points-panel .card ol'), (text) => text.includes('in one write'));
  await page.click('text=Set the points');
  await until('the build is followed', () => textOf(page, 'pm-points-panel'), (text) => text.includes('Generation 2 is'), BUILD_SECONDS);
  await until('it is published', () => textOf(page, 'pm-points-panel .card.good'), (text) => text.includes('applied'), BUILD_SECONDS);
  await seen(2, 'curated', 'left', 'a switch made in the form');
  await until('a notice told of it', () => textOf(page, '.notice-place'), (text) => text.includes('generation 2'));
}

async function rollBackFromTheForm() {
  await page.click('button:has-text("Roll back")');
  await seen(1, 'raw', 'left', 'a roll back made in the form');
  await page.click('[aria-label="Close the points panel"]');
}

/** Inner, then left, each built anew, and roll backs after each: the same rows stay on screen throughout. */
async function manySwitches() {
  await grid.scrollTo(9000);
  const before = await place();
  expect(before.ids[0] !== 'u0000', 'it has scrolled');
  let shown = { generation: 1, join: 'left' };
  for (const [join, rollBacks] of [['inner', 12], ['left', 14]]) {
    const { generation } = await control({ joinType: join });
    const old = shown;
    shown = { generation, join };
    await seen(generation, 'raw', join, `a switch to ${join}`);
    for (let i = 0; i < rollBacks; i++) {
      const way = i % 2 === 0 ? old : shown;
      await control({ rollback: true });
      await seen(way.generation, 'raw', way.join, `roll back ${i + 1} after it`);
    }
  }
  expect(switches === 30, `thirty switches were seen: ${switches}`);
  const after = await place();
  expect(JSON.stringify(after) === JSON.stringify(before), `the same rows are on screen after all of them: ${JSON.stringify([before, after])}`);
}

async function healing() {
  const before = await place();
  for (const [what, banner] of [
    ['tables', 'The tables server does not answer'],
    ['web', 'The web server does not answer'],
    ['broker', 'No heartbeat from the pipeline'],
  ]) {
    const troubles = () => textOf(page, 'pm-banner');
    await please('kill', { what });
    await until(`within 10 s a banner tells of the ${what}`, troubles, (text) => text.includes(banner), 10);
    await please('revive', { what });
    await until(`within 30 s of its return the ${what} is healed`, troubles, (text) => text === '', 30);
    await until('the page says that it is live', () => page.$('.live.on'));
    await please('stranger', { name: `y-${what}` });
    people.all++;
    people.joined++;
    await until('a record sent now is counted', () => grid.count(), (text) => text === rows('filtered', 'all'));
    const after = await place();
    expect(JSON.stringify(after) === JSON.stringify(before), `the same rows are on screen after the ${what}: ${JSON.stringify([before, after])}`);
  }
  const { generation } = await control({ joinType: 'inner' });
  await seen(generation, 'raw', 'inner', 'a switch after all of it');
}

/** A switch has reached the eye: rows of that generation and world, as many as its join gives, filter and all. */
async function seen(generation, world, join, claim) {
  const expected = join === 'inner' ? rows('filteredJoined', 'joined') : rows('filtered', 'all');
  await until(`${claim}: rows`, () => grid.column('name'), (names) => names.length > 10 && names.every((name) => name.startsWith(world)), 30);
  await until(`${claim}: count`, () => grid.count(), (text) => text === expected, 30);
  await until(`${claim}: status`, status, (now) => now.generation === String(generation) && now.join === join, 30);
  switches++;
}

function rows(shown, of) {
  return `${people[shown].toLocaleString('en-GB')} of ${people[of].toLocaleString('en-GB')} rows`;
}

/** Where the reader is. The grid keeps a few rows more than fit, and how many depends on what stood above it last. */
async function place() {
  const ids = await grid.settled('userId');
  return { ids: ids.slice(0, 25), top: await grid.scrollTop(), search: await page.inputValue('.search input') };
}

async function status() {
  const items = await page.$$eval('pm-status-strip dl > div', (parts) =>
    parts.map((part) => [part.querySelector('dt').textContent.toLowerCase(), part.querySelector('dd').textContent.trim()]),
  );
  return Object.fromEntries(items);
}

/** Sends a control message as any client of the API does, and returns its verdict. */
async function control(message) {
  const headers = { Authorization: `Bearer ${OPERATOR_KEY}`, 'Content-Type': 'application/json' };
  const answer = await (await fetch(`${WEB_URL}/api/control`, { method: 'POST', headers, body: JSON.stringify(message) })).json();
  const look = async () => (await (await fetch(`${WEB_URL}${answer.look}`)).json()).verdicts[0];
  const verdict = answer.accepted ? await until(`a verdict on ${JSON.stringify(message)} comes`, look, Boolean, BUILD_SECONDS) : answer;
  expect(verdict.verdict === 'applied', `${JSON.stringify(message)} is applied: ${JSON.stringify(verdict)}`);
  return verdict;
}
