import { chromium } from 'playwright-core';
const b = await chromium.launch({executablePath:'/usr/bin/chromium',args:['--no-sandbox']});
const p = await (await b.newContext({viewport:{width:1280,height:720}})).newPage();
p.on('console',m=>console.log('C:',m.type(),m.text().slice(0,300))); p.on('pageerror',e=>console.log('E:',e.message));
const t0=Date.now();
await p.goto('http://127.0.0.1:18080/#key=devkey');
await p.waitForSelector('.ag-row .ag-cell'); console.log('rows', Date.now()-t0);
for (const [k,w] of [['5',1500],['1',1500]]) { await p.keyboard.press(k); await p.waitForTimeout(w); }
await p.keyboard.press('/'); await p.keyboard.type('Name 99'); 
for (let i=0;i<5;i++){await p.waitForTimeout(1000);
console.log(await p.textContent('.count'), p.url(), await p.evaluate(()=>document.querySelector('.search input').value));}
await p.fill('.search input','Name 77'); await p.waitForTimeout(1500); console.log(await p.textContent('.count'));
await b.close();
